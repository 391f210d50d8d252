/*
 * The machine formats: rows of fields, written as CSV or as JSON by the same table, so that the
 * two cannot differ. Knows nothing of what the fields mean.
 */
#ifndef SCREEN_FIELD_H
#define SCREEN_FIELD_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct screen_gap;
struct screen_state;
struct table;

/* One of the two functions is set. row is what the caller of the writer hands in. */
struct screen_field {
	const char *name;
	const char *(*text)(const void *row);             /* never NULL */
	bool (*number)(const void *row, struct buf *out); /* false: does not hold, nothing added */
};

typedef void screen_write_fn(struct buf *out, const struct screen_field *fields, size_t nr,
			     const void *row);
screen_write_fn screen_write_csv, screen_write_json; /* one line each */
void screen_write_csv_header(struct buf *out, const struct screen_field *fields, size_t nr);

/* The fields of one cell of one iteration of such a table: with many things, which of them comes
 * first; those of samples come last. With a session, that comes first, and there are all. */
const struct screen_field *screen_cell_fields(const struct table *t, bool has_session, size_t *nr);
/* Writes all cells of the table but those that are CELL_NONE, and then the totals of metrics, which
 * are of no trace and no CPU: they cannot be made of the rows' numbers. session: NULL, or what
 * tells the table from others. */
void screen_write_cells(const struct table *t, const char *session, screen_write_fn *write,
			struct buf *out);
/* The row that stands in the place of iterations; it is of no trace and no CPU. */
void screen_write_gap(const struct table *t, const struct screen_gap *gap, const char *session,
		      screen_write_fn *write, struct buf *out);

#endif
