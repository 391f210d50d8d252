/*
 * Regions that programs mark, of the displayed iteration: a line for each name, with calls a
 * second, the share of the time in it and the mean of a call.
 */
#include "base/buf.h"
#include "dashboard/paint_parts.h"
#include "screen/number.h"

#include <stdio.h>

enum { COLUMN_WIDTH = 9, NAME_WIDTH = 26, MIN_BAR_WIDTH = 8 };

enum { CALLS, SHARE, MEAN, NR_COLUMNS };
static const char *const titles[NR_COLUMNS] = {"calls/s", "time", "mean"};

static const struct region_times_list *regions_of(const struct model *m)
{
	return &m->shown->table->regions;
}

unsigned paint_regions_need(const struct model *m)
{
	return regions_of(m)->nr ? 1 + regions_of(m)->nr : 0;
}

static double span_ns(const struct model *m)
{
	const struct table *t = m->shown->table;

	return t->end_ns > t->start_ns ? (double)(t->end_ns - t->start_ns) : 0;
}

/* Of one thread's time: of several it may be beyond 100 %. */
static double share_of(const struct model *m, const struct region_times *r)
{
	return span_ns(m) > 0 ? (double)r->wall_ns / span_ns(m) : 0;
}

static void put_number(struct buf *b, const struct model *m, const struct region_times *r, int i)
{
	if (i == SHARE)
		screen_human(b, 100 * share_of(m, r), "%");
	else if (i == CALLS && span_ns(m) > 0)
		screen_human(b, (double)r->calls / span_ns(m) * 1e9, "");
	else if (i == MEAN && r->calls)
		screen_human(b, (double)r->ended_ns / (double)r->calls, "ns");
	else if (i == MEAN)
		buf_adds(b, "open"); /* no call has ended */
}

static unsigned x_of(int column)
{
	return 2 + NAME_WIDTH + (unsigned)column * (COLUMN_WIDTH + 1);
}

static void paint_row(const struct model *m, struct canvas *c, unsigned y,
		      const struct region_times *r, double most)
{
	unsigned bar = x_of(NR_COLUMNS);
	BUF_AUTO(b, PAINT_TEXT_BYTES);

	canvas_left(c, 1, y, NAME_WIDTH, CANVAS_PLAIN, r->name);
	for (int i = 0; i < NR_COLUMNS; i++) {
		buf_reset(&b);
		put_number(&b, m, r, i);
		canvas_right(c, x_of(i), y, COLUMN_WIDTH, CANVAS_PLAIN, buf_str(&b));
	}
	if (c->width > bar + MIN_BAR_WIDTH && most > 0)
		paint_bar(c, bar + 1, y, c->width - bar - 2, CANVAS_HEAT,
			  (double)r->wall_ns / most);
}

void paint_regions(const struct model *m, struct canvas *c, struct paint_area area)
{
	const struct region_times_list *l = regions_of(m);
	unsigned nr = area.height > 1 ? area.height - 1 : 0;
	uint32_t nr_left = (l->nr > nr ? l->nr - nr : 0) + l->nr_more;
	char more[48] = "";

	if (nr_left)
		snprintf(more, sizeof(more), "%u more", nr_left);
	canvas_left(c, 1, area.y, NAME_WIDTH, CANVAS_TITLE, "region");
	for (int i = 0; i < NR_COLUMNS; i++)
		canvas_right(c, x_of(i), area.y, COLUMN_WIDTH, CANVAS_TITLE, titles[i]);
	if (c->width > x_of(NR_COLUMNS) + MIN_BAR_WIDTH)
		canvas_left(c, x_of(NR_COLUMNS) + 1, area.y, c->width - x_of(NR_COLUMNS) - 1,
			    CANVAS_TITLE, more);
	for (unsigned i = 0; i < nr && i < l->nr; i++)
		paint_row(m, c, area.y + 1 + i, &l->row[i], (double)l->row[0].wall_ns);
}
