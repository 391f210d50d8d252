/*
 * The line of what cannot be measured, in place of columns without a number.
 */
#include "base/buf.h"
#include "dashboard/paint_parts.h"
#include "screen/absent.h"

#include <limits.h>
#include <string.h>

static size_t count(const struct table *t, const char **reason)
{
	size_t nr = 0;

	for (size_t i = t->nr_columns; i-- > 0;) {
		if (!absent_is(t, NULL, i))
			continue;
		*reason = t->columns[i].reason;
		nr++;
	}
	return nr;
}

unsigned paint_absent_need(const struct model *m)
{
	const char *reason;

	return count(m->shown->table, &reason) ? 1 : 0;
}

/* With all names; if they do not fit, their number and the first reason. */
void paint_absent(const struct model *m, struct canvas *c, struct paint_area area)
{
	const struct table *t = m->shown->table;
	const char *reason = "";
	size_t nr = count(t, &reason);
	BUF_AUTO(b, PAINT_LINE_BYTES);

	buf_addc(&b, ' ');
	absent_put(t, NULL, UINT_MAX, &b);
	for (char *end = b.data; end && (end = strchr(end, '\n'));)
		*end = end[1] ? ';' : '\0';
	if (buf_error(&b) || canvas_width(buf_str(&b)) > c->width) {
		buf_reset(&b);
		buf_printf(&b, " not measured: %zu event%s", nr, nr == 1 ? "" : "s");
		if (*reason)
			buf_printf(&b, " (%s)", reason);
	}
	canvas_left(c, 0, area.y, c->width, CANVAS_DIM, buf_str(&b));
}
