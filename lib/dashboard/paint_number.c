/*
 * Formats numbers for all parts of the dashboard.
 */
#include "base/buf.h"
#include "dashboard/paint_parts.h"
#include "screen/number.h"

#include <string.h>

void paint_number(struct buf *out, const struct table_column *c, double x, bool as_count)
{
	bool is_time_rate = c->kind == EVENT_COUNT && !as_count && strcmp(c->unit, "ns") == 0;

	if (c->metric) {
		screen_metric_human(out, x, c->unit);
	} else if (c->kind == EVENT_SHARE || is_time_rate) {
		screen_decimal(out, x, 1);
		buf_adds(out, " %");
	} else {
		screen_human(out, x, c->unit);
	}
}
