/*
 * An SQLite database in an unlinked temporary file: filled row by row in one transaction, then
 * copied to the output, which may be a pipe. Only these files include sqlite3.h.
 *
 * Errors are sticky: after one, nothing is written; sqlite_file_error returns it.
 */
#ifndef CPUPERF_PRINT_EXPORTS_SQLITE_FILE_H
#define CPUPERF_PRINT_EXPORTS_SQLITE_FILE_H

#include "exports/sqlite/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct job;
struct sqlite_file;

/* Makes the file in TMPDIR, else /tmp, mode 0600; begins the transaction. 0 or -errno with *e. */
int sqlite_file_open(struct sqlite_file **out, struct err *e);
void sqlite_file_close(struct sqlite_file *f); /* NULL is fine */
/* Runs any number of statements without results. */
void sqlite_file_run(struct sqlite_file *f, const char *sql);
/* 0 or -errno with *e. */
int sqlite_file_error(const struct sqlite_file *f, struct err *e);
/* Ends the transaction and writes the file to the job's output. Only sqlite_file_close may follow.
 * 0 or -errno with *e. */
int sqlite_file_write(struct sqlite_file *f, struct job *j, struct err *e);

/* A cell of a row: text is borrowed until the row is written. */
struct sqlite_cell {
	enum {
		SQLITE_CELL_NONE,
		SQLITE_CELL_I64,
		SQLITE_CELL_U64,
		SQLITE_CELL_REAL,
		SQLITE_CELL_TEXT
	} kind;
	union {
		int64_t i64;
		uint64_t u64;
		double real;
		const char *text;
	} v;
};

static inline struct sqlite_cell sqlite_i64(int64_t v)
{
	return (struct sqlite_cell){SQLITE_CELL_I64, {.i64 = v}};
}

/* A number beyond 63 bits becomes text: the format has no type for it. */
static inline struct sqlite_cell sqlite_u64(uint64_t v)
{
	return (struct sqlite_cell){v <= INT64_MAX ? SQLITE_CELL_I64 : SQLITE_CELL_U64, {.u64 = v}};
}

static inline struct sqlite_cell sqlite_real(double v)
{
	return (struct sqlite_cell){SQLITE_CELL_REAL, {.real = v}};
}

static inline struct sqlite_cell sqlite_none(void)
{
	return (struct sqlite_cell){SQLITE_CELL_NONE, {0}};
}

/* NULL: no value. */
static inline struct sqlite_cell sqlite_text(const char *text)
{
	return text ? (struct sqlite_cell){SQLITE_CELL_TEXT, {.text = text}} : sqlite_none();
}

/* As sqlite_u64 if holds, else no value. */
static inline struct sqlite_cell sqlite_maybe(bool holds, uint64_t v)
{
	return holds ? sqlite_u64(v) : sqlite_none();
}

/* The number that rows have from now on in the column host_id, where the table has one; 0: none. */
void sqlite_file_set_host(struct sqlite_file *f, uint32_t host);
/* Inserts a row: a cell for each column of the table but host_id. */
void sqlite_file_row(struct sqlite_file *f, enum sqlite_table table,
		     const struct sqlite_cell *cells, size_t nr);
#define SQLITE_PUT(file, table, ...)                                                               \
	sqlite_file_row(file, table, (const struct sqlite_cell[]){__VA_ARGS__},                    \
			sizeof((const struct sqlite_cell[]){__VA_ARGS__}) /                        \
			    sizeof(struct sqlite_cell))

#endif
