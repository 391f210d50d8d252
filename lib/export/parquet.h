/*
 * Writes Parquet files (format 2, data pages of version 1): a table of rows, which is divided into
 * row groups so that memory is bounded. Columns are numbers, texts and times; a column whose values
 * repeat is written with a dictionary; all is compressed by zstd. The same rows are always the same
 * bytes. Source: github.com/apache/parquet-format.
 *
 * 	const struct parquet_column columns[] = {{"host", PARQUET_TEXT}, {"value", PARQUET_REAL}};
 * 	p = parquet_new(columns, 2);
 * 	PARQUET_PUT(p, &out, parquet_text("a"), parquet_real(1.5));
 * 	parquet_end(p, facts, nr, &out);
 *
 * The caller writes what is in out, in order, and may empty it after each call.
 *
 * Debian 12 has no library for C, and Arrow's for C++ is 100 times this code's size. It writes
 * what a store needs: flat tables, plain and dictionary pages, zstd, statistics. Two other readers
 * check it in the tests.
 */
#ifndef EXPORT_PARQUET_H
#define EXPORT_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct parquet;

enum {
	PARQUET_GROUP_ROWS = 64 << 10,
	PARQUET_GROUP_BYTES = 16 << 20, /* of distinct texts: then the row group ends, too */
	PARQUET_TEXT_BYTES = 1 << 20,   /* of one text: the rest is omitted */
	PARQUET_MAX_COLUMNS = 64,
};

enum parquet_type {
	PARQUET_I64,
	PARQUET_U64,
	PARQUET_REAL,
	PARQUET_BOOL,
	PARQUET_TEXT, /* valid UTF-8: else U+FFFD */
	PARQUET_TIME, /* ns since 1970, UTC */
};

struct parquet_column {
	const char *name; /* borrowed */
	enum parquet_type type;
	bool is_required; /* each row has a value */
};

/* Borrowed until the row is added. */
struct parquet_cell {
	bool has;
	union {
		int64_t i64; /* and times */
		uint64_t u64;
		double real;
		bool is_true;
		const char *text;
	} v;
};

static inline struct parquet_cell parquet_none(void)
{
	return (struct parquet_cell){0};
}
static inline struct parquet_cell parquet_i64(int64_t v)
{
	return (struct parquet_cell){true, {.i64 = v}};
}
static inline struct parquet_cell parquet_u64(uint64_t v)
{
	return (struct parquet_cell){true, {.u64 = v}};
}
static inline struct parquet_cell parquet_real(double v)
{
	return (struct parquet_cell){true, {.real = v}};
}
static inline struct parquet_cell parquet_bool(bool v)
{
	return (struct parquet_cell){true, {.u64 = v}};
}
/* NULL: no value. */
static inline struct parquet_cell parquet_text(const char *text)
{
	return text ? (struct parquet_cell){true, {.text = text}} : parquet_none();
}
/* As parquet_u64 if holds, else no value. */
static inline struct parquet_cell parquet_maybe(bool holds, uint64_t v)
{
	return holds ? parquet_u64(v) : parquet_none();
}

/* columns: borrowed. NULL: no memory, or too many. */
struct parquet *parquet_new(const struct parquet_column *columns, size_t nr);
void parquet_free(struct parquet *p); /* NULL is fine */
/* Adds a row, a cell of its column's type for each column. A required cell without a value is 0 or
 * "". Appends to out when a row group is full. 0, -ENOMEM or buf_error(out). */
int parquet_row(struct parquet *p, const struct parquet_cell *cells, struct buf *out);
#define PARQUET_PUT(p, out, ...) parquet_row(p, (const struct parquet_cell[]){__VA_ARGS__}, out)

struct parquet_fact {
	const char *key, *value;
};
/* Ends the file: the last row group, and the footer with facts. Only parquet_free may follow. 0,
 * -ENOMEM or buf_error(out). */
int parquet_end(struct parquet *p, const struct parquet_fact *facts, size_t nr, struct buf *out);

#endif
