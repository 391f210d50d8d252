/*
 * An SQLite database in an unlinked temporary file: filled row by row in one transaction, then
 * copied to the output, which may be a pipe. Only these files include sqlite3.h.
 *
 * Errors are sticky: write, then call sqlite_file_error once.
 */
#ifndef CPUPERF_PRINT_EXPORTS_SQLITE_FILE_H
#define CPUPERF_PRINT_EXPORTS_SQLITE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct job;
struct sqlite_file;
struct sqlite3_stmt;

/* Makes the file in TMPDIR, else /tmp, mode 0600; begins the transaction. 0 or -errno with *e. */
int sqlite_file_open(struct sqlite_file **out, struct err *e);
void sqlite_file_close(struct sqlite_file *f); /* NULL is fine */
/* Runs any number of statements without results. */
void sqlite_file_run(struct sqlite_file *f, const char *sql);
/* 0 or -errno with *e. */
int sqlite_file_error(const struct sqlite_file *f, struct err *e);
/* Ends the transaction and writes the file to the job's output; all rows are closed. Only
 * sqlite_file_close may follow. */
int sqlite_file_write(struct sqlite_file *f, struct job *j, struct err *e);

/* Inserts rows into one table, a cell for each of its nr columns. */
struct sqlite_rows {
	struct sqlite_file *file; /* borrowed */
	struct sqlite3_stmt *stmt;
	unsigned nr, at;
};
void sqlite_rows_open(struct sqlite_rows *r, struct sqlite_file *f, const char *table, unsigned nr);
void sqlite_rows_close(struct sqlite_rows *r); /* zeroed is fine */

/* Sets the next cell of the row. Numbers beyond 63 bits become text: the format has no type for
 * them. */
void sqlite_u64(struct sqlite_rows *r, uint64_t v);
void sqlite_i64(struct sqlite_rows *r, int64_t v);
void sqlite_real(struct sqlite_rows *r, double v);
/* NULL: no value. Borrowed until the row ends. */
void sqlite_text(struct sqlite_rows *r, const char *text);
void sqlite_none(struct sqlite_rows *r);
/* As sqlite_u64 if holds, else no value. */
void sqlite_maybe(struct sqlite_rows *r, bool holds, uint64_t v);
void sqlite_row_end(struct sqlite_rows *r);

#endif
