/*
 * CSV: a header, then a line per cell.
 */
#include "screen/field.h"
#include "screen/state.h"

void screen_csv_begin(struct screen_state *s, const struct table *t, struct buf *out)
{
	size_t nr;
	const struct screen_field *fields = screen_cell_fields(t, &s->options, &nr);

	if (!s->options.has_header)
		screen_write_csv_header(out, fields, nr);
}

void screen_csv_iteration(struct screen_state *s, const struct table *t, struct buf *out)
{
	screen_write_cells(t, &s->options, screen_write_csv, out);
}

void screen_csv_gap(struct screen_state *s, const struct table *t, const struct screen_gap *gap,
		    struct buf *out)
{
	screen_write_gap(t, gap, &s->options, screen_write_csv, out);
}
