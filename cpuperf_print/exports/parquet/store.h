/*
 * A store: a folder of Parquet files, a file for each table of a session, TABLE/day=DAY/host=HOST/
 * SESSION.parquet. Files are added and never changed. They get their names when all are complete,
 * that of the session's own row last.
 *
 * Errors are sticky: after one, nothing is written; store_error returns it.
 *
 * Many sessions of many hosts share it, so nothing in it is ever changed, locked or listed by an
 * index: a session is found by day, host and id. The row of `sessions` says that the other files
 * are there; what an addition that was killed has left is replaced by the next one. Rows have
 * names, not numbers, so that most queries need no join; dictionaries make that cheap.
 * exports/rows.h has what the tables share with those of sqlite.
 */
#ifndef CPUPERF_PRINT_EXPORTS_PARQUET_STORE_H
#define CPUPERF_PRINT_EXPORTS_PARQUET_STORE_H

#include "exports/parquet/schema.h"

struct err;
struct store;

struct store_session {
	const char *id, *host; /* borrowed; host "": not known */
	uint64_t realtime_ns;  /* of its start; 0: not known */
	const char *config_name;
};

/* Creates the folder if there is none; its parent must exist. 1: the session is in it already, and
 * *out is unset; 0; -errno with *e. */
int store_open(const char *folder, const struct store_session *session, struct store **out,
	       struct err *e);
/* Removes what has no name yet. NULL is fine. */
void store_close(struct store *s);
/* 0 or -errno with *e. */
int store_error(const struct store *s, struct err *e);
/* Adds a row: the cells behind the common columns. */
void store_row(struct store *s, enum store_table table, const struct parquet_cell *cells,
	       size_t nr);
#define STORE_PUT(s, table, ...)                                                                   \
	store_row(s, table, (const struct parquet_cell[]){__VA_ARGS__},                            \
		  sizeof((const struct parquet_cell[]){__VA_ARGS__}) /                             \
		      sizeof(struct parquet_cell))
/* Gives all files their names, or none. Only store_close may follow. 0 or -errno with *e. */
int store_publish(struct store *s, struct err *e);

#endif
