/*
 * Formats numbers for all parts of the dashboard.
 */
#include "base/buf.h"
#include "dashboard/paint_parts.h"
#include "screen/number.h"

void paint_number(struct buf *out, const struct table_column *c, double x, bool as_count)
{
	if (c->metric)
		screen_metric_human(out, x, c->unit);
	else
		screen_human(out, x, as_count ? c->unit : rate_of(c->kind, c->unit).unit);
}
