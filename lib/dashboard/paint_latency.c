/*
 * Latencies of the displayed iteration: a line for each event and part, with quantiles, and where
 * there is room how they are distributed, over one logarithmic axis for all.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "dashboard/paint_parts.h"
#include "screen/number.h"

#include <math.h>
#include <string.h>

enum { COLUMN_WIDTH = 9, MIN_NAME_WIDTH = 12, MAX_NAME_WIDTH = 26, MIN_LINE_WIDTH = 12 };

enum { RATE, P50, P90, P99, LONGEST, NR_COLUMNS };
static const struct {
	const char *title;
	double quantile;
} columns[NR_COLUMNS] = {
    [RATE] = {"rate/s", 0}, [P50] = {"p50", 0.5},   [P90] = {"p90", 0.9},
    [P99] = {"p99", 0.99},  [LONGEST] = {"max", 0},
};

/* The axis: from the shortest bucket of all to the end of the longest. */
struct axis {
	double low, high; /* log2 of ns */
	unsigned x, width;
};

static const struct latencies *latencies_of(const struct model *m)
{
	return &m->shown->table->latencies;
}

unsigned paint_latency_need(const struct model *m)
{
	return latencies_of(m)->rows.nr ? 1 + latencies_of(m)->rows.nr : 0;
}

static double place_of(uint64_t ns)
{
	return log2(fmax(1, (double)ns));
}

static void reach(struct axis *a, const struct histogram *h)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (!h->bucket[i])
			continue;
		a->low = fmin(a->low, place_of(histogram_low(i)));
		a->high = fmax(a->high, place_of(histogram_low(i + 1)));
	}
}

static void put_number(struct buf *b, const struct model *m, const struct histogram *h, size_t i)
{
	const struct table *t = m->shown->table;
	double span_s = (double)(t->end_ns - t->start_ns) / 1e9;

	if (i == LONGEST)
		screen_human(b, (double)h->max_ns, "ns");
	else if (i != RATE)
		screen_human(b, round(histogram_quantile(h, columns[i].quantile).ns), "ns");
	else if (t->end_ns > t->start_ns)
		screen_human(b, (double)h->count / span_s, "");
}

/* A mark for each part of the axis: its height and its colour are the part of all. */
static void paint_line(struct canvas *c, unsigned y, const struct axis *a,
		       const struct histogram *h)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const marks[] = {".", ":", "-", "=", "+", "*", "#", "@"};
	double count[CANVAS_MAX_WIDTH] = {0}, most = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		double part = (place_of(histogram_low(i)) - a->low) / (a->high - a->low);
		size_t at = (size_t)fmin(fmax(part * a->width, 0), a->width - 1);

		count[at] += (double)h->bucket[i];
		most = fmax(most, count[at]);
	}
	for (unsigned i = 0; i < a->width; i++) {
		unsigned step = paint_step(count[i], most, 8);

		if (count[i] > 0)
			canvas_put(
			    c, a->x + i, y,
			    (uint8_t)(CANVAS_HEAT + paint_step(count[i], most, CANVAS_NR_HEAT)),
			    c->is_utf8 ? blocks[step] : marks[step], 1);
	}
}

static void paint_row(const struct model *m, struct canvas *c, unsigned y, unsigned name,
		      const struct latencies_row *row, const struct axis *a)
{
	BUF_AUTO(b, PAINT_TEXT_BYTES);

	buf_printf(&b, "%s%s%s", model_column(m, row->event)->label, row->part[0] ? ", " : "",
		   row->part);
	canvas_left(c, 1, y, name, CANVAS_PLAIN, buf_str(&b));
	for (size_t i = 0; i < NR_COLUMNS; i++) {
		buf_reset(&b);
		put_number(&b, m, row->histogram, i);
		canvas_right(c, 2 + name + (unsigned)i * (COLUMN_WIDTH + 1), y, COLUMN_WIDTH,
			     CANVAS_PLAIN, buf_str(&b));
	}
	if (a->width)
		paint_line(c, y, a, row->histogram);
}

static void paint_titles(struct canvas *c, unsigned y, unsigned name, const struct axis *a)
{
	BUF_AUTO(b, PAINT_TEXT_BYTES);

	canvas_left(c, 1, y, name, CANVAS_TITLE, "latency");
	for (size_t i = 0; i < NR_COLUMNS; i++)
		canvas_right(c, 2 + name + (unsigned)i * (COLUMN_WIDTH + 1), y, COLUMN_WIDTH,
			     CANVAS_TITLE, columns[i].title);
	if (!a->width)
		return;
	screen_human(&b, exp2(a->low), "ns");
	canvas_left(c, a->x, y, a->width / 2, CANVAS_TITLE, buf_str(&b));
	buf_reset(&b);
	screen_human(&b, exp2(a->high), "ns");
	canvas_right(c, a->x + a->width / 2, y, a->width - a->width / 2, CANVAS_TITLE, buf_str(&b));
}

static unsigned name_width(const struct model *m, const struct latencies_row *rows)
{
	unsigned width = MIN_NAME_WIDTH;

	for (uint32_t i = 0; i < latencies_of(m)->rows.nr; i++) {
		unsigned need = canvas_width(model_column(m, rows[i].event)->label) +
				(rows[i].part[0] ? 2 + canvas_width(rows[i].part) : 0);

		width = need > width ? need : width;
	}
	return width < MAX_NAME_WIDTH ? width : MAX_NAME_WIDTH;
}

void paint_latency(const struct model *m, struct canvas *c, struct paint_area area)
{
	MEM_AUTO struct latencies_row *rows = latencies_sorted(latencies_of(m));
	uint32_t nr = latencies_of(m)->rows.nr;
	struct axis axis = {.low = INFINITY, .high = 0};
	unsigned name;

	if (!rows || !nr || area.height < 2)
		return;
	name = name_width(m, rows);
	axis.x = 2 + name + NR_COLUMNS * (COLUMN_WIDTH + 1) + 1;
	axis.width = c->width > axis.x + MIN_LINE_WIDTH ? c->width - axis.x - 1 : 0;
	for (uint32_t i = 0; i < nr; i++)
		reach(&axis, rows[i].histogram);
	if (!(axis.high > axis.low))
		axis.width = 0;
	paint_titles(c, area.y, name, &axis);
	for (unsigned i = 0; i < nr && i + 1 < area.height; i++)
		paint_row(m, c, area.y + 1 + i, name, &rows[i], &axis);
}
