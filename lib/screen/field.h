/*
 * Rows of fields, written as CSV or JSON from the same table of fields.
 */
#ifndef SCREEN_FIELD_H
#define SCREEN_FIELD_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct screen_gap;
struct screen_options;
struct screen_state;
struct table;

/* At least one of the functions is set: the text stands where there is no number. row is the
 * caller's. */
struct screen_field {
	const char *name;
	const char *(*text)(const void *row);             /* never NULL */
	bool (*number)(const void *row, struct buf *out); /* false: no number, nothing appended */
};

/* Makes the functions of a field from an expression over *r, a struct row: a number that exists if
 * cond is true; a text. */
#define SCREEN_NUMBER(row, field, cond, expression)                                                \
	static bool field(const void *p, struct buf *out)                                          \
	{                                                                                          \
		const struct row *r = p;                                                           \
                                                                                                   \
		if (cond)                                                                          \
			buf_u64(out, expression);                                                  \
		return cond;                                                                       \
	}
#define SCREEN_TEXT(row, field, expression)                                                        \
	static const char *field(const void *p)                                                    \
	{                                                                                          \
		const struct row *r = p;                                                           \
                                                                                                   \
		return expression;                                                                 \
	}

typedef void screen_write_fn(struct buf *out, const struct screen_field *fields, size_t nr,
			     const void *row);
screen_write_fn screen_write_csv, screen_write_json; /* one line each */
void screen_write_csv_header(struct buf *out, const struct screen_field *fields, size_t nr);

/* The fields of a cell of such a table: with things the thing comes first, with samples their
 * fields come before the last. With a session, which then comes first, all fields are there. */
const struct screen_field *screen_cell_fields(const struct table *t, const struct screen_options *o,
					      size_t *nr);
/* Writes all cells except CELL_NONE, then the totals over CPUs, which have no trace. session: the
 * field of that name; NULL: none. */
void screen_write_cells(const struct table *t, const struct screen_options *o,
			screen_write_fn *write, struct buf *out);
/* A row in place of iterations that were not printed; without trace. */
void screen_write_gap(const struct table *t, const struct screen_gap *gap,
		      const struct screen_options *o, screen_write_fn *write, struct buf *out);

#endif
