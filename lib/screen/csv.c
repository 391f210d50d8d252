/*
 * CSV: a header, then a line per cell. Knows nothing of what the fields are.
 */
#include "screen/field.h"
#include "screen/state.h"

void screen_csv_begin(struct screen_state *s, const struct table *t, struct buf *out)
{
	size_t nr;
	const struct screen_field *fields = screen_cell_fields(t, &nr);

	(void)s;
	screen_write_csv_header(out, fields, nr);
}

void screen_csv_iteration(struct screen_state *s, const struct table *t, struct buf *out)
{
	(void)s;
	screen_write_cells(t, screen_write_csv, out);
}
