/*
 * Sparklines and charts of the history, and details of the selected cell.
 */
#include "base/buf.h"
#include "dashboard/paint_parts.h"
#include "estimate/chance.h"
#include "screen/number.h"

#include <math.h>
#include <string.h>

enum { NR_LEVELS = 8, AXIS_WIDTH = 11, DOTS_WIDE = 2, DOTS_HIGH = 4 };

/* From there on the limit is the top; what exceeds it by rounding is not marked. */
static const double NEAR_LIMIT = 0.9, OVER_LIMIT = 1.01;

static const char *const levels[2][NR_LEVELS] = {
    {"_", ".", "-", "=", "+", "*", "#", "@"},
    {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
};

size_t paint_nr_entries(const struct model *m)
{
	const struct history *h = &m->history;
	size_t nr = h->nr;

	while (nr && history_entry(h, nr - 1)->iteration > m->shown->table->iteration)
		nr--;
	return nr;
}

unsigned paint_step(double x, double max, unsigned nr)
{
	return screen_step(x, max, nr);
}

static double largest(const struct history *h, size_t series, size_t from, size_t to)
{
	double max = 0;

	for (size_t i = from; i < to; i++) {
		double x = history_value(h, i, series);

		if (x > max)
			max = x;
	}
	return max;
}

void paint_spark(const struct model *m, struct canvas *c, unsigned x, unsigned y, unsigned width,
		 size_t series)
{
	const struct history *h = &m->history;
	size_t to = paint_nr_entries(m), from = to > width ? to - width : 0;
	double max;

	if (series >= h->nr_series)
		return;
	max = largest(h, series, from, to);
	x += width - (unsigned)(to - from);
	for (size_t i = from; i < to; i++, x++) {
		double value = history_value(h, i, series);

		if (isnan(value))
			continue;
		canvas_put(c, x, y, CANVAS_CHART,
			   levels[c->is_utf8][paint_step(value, max, NR_LEVELS)], 1);
	}
}

void paint_bar(struct canvas *c, unsigned x, unsigned y, unsigned width, uint8_t style, double part)
{
	unsigned full;

	part = part > 0 ? fmin(part, 1) : 0;
	full = (unsigned)(part * width + 0.5);
	canvas_fill(c, x, y, full, style, "█");
	canvas_fill(c, x + full, y, width - full, style, "░");
}

/* --- the chart ---------------------------------------------------------------------------------
 */

struct chart {
	const struct model *m;
	struct paint_series of;
	size_t from, to;  /* entries of the history */
	double low, high; /* of the axis */
	double limit;     /* of the values; NaN: none */
	unsigned x, y, width, height;
};

double paint_series_value(const struct model *m, const struct paint_series *s, size_t i)
{
	if (s->is_of_thing)
		return model_thing_value(m, s->of, i);
	return s->series < m->history.nr_series ? history_value(&m->history, i, s->series) : NAN;
}

double paint_series_limit(const struct model *m, const struct paint_series *s)
{
	return table_limit_shown(model_column(m, s->column), m->facts.nr_machine_cpus,
				 !s->is_of_thing);
}

static double value_at(const struct chart *k, size_t i)
{
	return paint_series_value(k->m, &k->of, i);
}

static void find_axis(struct chart *k)
{
	double low = INFINITY, high = -INFINITY;

	for (size_t i = k->from; i < k->to; i++) {
		double value = value_at(k, i);

		if (isnan(value))
			continue;
		low = fmin(low, value);
		high = fmax(high, value);
	}
	if (low > high)
		low = high = 0;
	if (high >= NEAR_LIMIT * k->limit)
		high = k->limit;
	low = fmin(low, k->limit);
	k->high = high > 0 ? high : low < 0 ? 0 : 1;
	k->low = low >= 0 && low < high / 2 ? 0 : low; /* include 0 if it is near */
	if (k->low >= k->high)
		k->low = k->high > 0 ? 0 : k->high - 1;
}

/* The style of the top line, which says that a value is drawn lower than it is. */
static uint8_t top_style(const struct chart *k, size_t i, size_t nr)
{
	for (; nr-- && i < k->to; i++)
		if (value_at(k, i) > k->limit * OVER_LIMIT)
			return CANVAS_WARN;
	return CANVAS_CHART;
}

/* How many of nr dots the value fills: at least one. */
static unsigned dots_of(const struct chart *k, size_t i, unsigned nr)
{
	double value = value_at(k, i), part;

	if (isnan(value))
		return 0;
	part = (value - k->low) / (k->high - k->low);
	return 1 + (unsigned)(fmin(fmax(part, 0), 1) * (nr - 1) + 0.5);
}

/* Braille: two entries per character, four dots per line. */
static void put_braille(const struct chart *k, struct canvas *c, unsigned x, const unsigned dots[2],
			uint8_t top)
{
	static const uint8_t bits[DOTS_WIDE][DOTS_HIGH] = {{0x40, 0x04, 0x02, 0x01},
							   {0x80, 0x20, 0x10, 0x08}};

	for (unsigned line = 0; line < k->height; line++) {
		unsigned below = line * DOTS_HIGH, pattern = 0;
		char text[4] = {(char)0xe2, 0, 0, 0};

		for (unsigned i = 0; i < DOTS_WIDE; i++)
			for (unsigned dot = 0; dot < DOTS_HIGH && below + dot < dots[i]; dot++)
				pattern |= bits[i][dot];
		if (!pattern)
			continue;
		text[1] = (char)(0xa0 | pattern >> 6);
		text[2] = (char)(0x80 | (pattern & 0x3f));
		canvas_put(c, x, k->y + k->height - 1 - line,
			   line + 1 == k->height ? top : CANVAS_CHART, text, 1);
	}
}

static void paint_points(const struct chart *k, struct canvas *c)
{
	size_t per_cell = c->is_utf8 ? DOTS_WIDE : 1, nr = k->to - k->from;
	unsigned x = k->x + k->width - (unsigned)((nr + per_cell - 1) / per_cell);

	for (size_t i = k->from; i < k->to; i += per_cell, x++) {
		const uint8_t top = top_style(k, i, per_cell);
		unsigned dots[2] = {0, 0};

		if (!c->is_utf8) {
			unsigned height = dots_of(k, i, k->height);

			for (unsigned line = 0; line < height; line++)
				canvas_put(c, x, k->y + k->height - 1 - line,
					   line + 1 == k->height ? top : CANVAS_CHART,
					   line + 1 < height    ? ":"
					   : top == CANVAS_WARN ? "!"
								: "*",
					   1);
			continue;
		}
		for (size_t d = 0; d < DOTS_WIDE && i + d < k->to; d++)
			dots[d] = dots_of(k, i + d, k->height * DOTS_HIGH);
		put_braille(k, c, x, dots, top);
	}
}

/* --- values of the history, in the displayed mode ----------------------------------------------
 */

/* The history stores rates, and percent of time. */
static double to_shown(const struct model *m, const struct table_column *column, double x)
{
	double s = (double)m->facts.duration_ns / 1e9;

	if (!m->is_counts || column->kind != EVENT_COUNT)
		return x;
	return x * s * unit_shown(column->kind, column->unit).divisor;
}

static void add_shown(const struct model *m, struct buf *out, const struct table_column *column,
		      double x)
{
	paint_number(out, column, to_shown(m, column, x), m->is_counts);
}

/* No chart between ends that print the same: it would magnify invisible differences. */
static bool reads_the_same(const struct model *m, const struct table_column *column, double x,
			   double y)
{
	BUF_AUTO(a, PAINT_TEXT_BYTES);
	BUF_AUTO(b, PAINT_TEXT_BYTES);

	add_shown(m, &a, column, x);
	add_shown(m, &b, column, y);
	return strcmp(buf_str(&a), buf_str(&b)) == 0;
}

static void paint_axis(const struct model *m, const struct chart *k, struct canvas *c,
		       const struct table_column *column)
{
	BUF_AUTO(b, PAINT_TEXT_BYTES);

	add_shown(m, &b, column, k->high);
	canvas_right(c, 0, k->y, AXIS_WIDTH - 1, CANVAS_DIM, buf_str(&b));
	buf_reset(&b);
	add_shown(m, &b, column, k->low);
	if (k->height > 1)
		canvas_right(c, 0, k->y + k->height - 1, AXIS_WIDTH - 1, CANVAS_DIM, buf_str(&b));
	for (unsigned i = 0; i < k->height; i++)
		canvas_put(c, AXIS_WIDTH, k->y + i, CANVAS_DIM, "│", 1);
	if (k->height > 1 && k->low > 0) /* heights are no parts of a whole */
		canvas_put(c, AXIS_WIDTH, k->y + k->height - 1, CANVAS_WARN, "≈", 1);
}

void paint_chart(const struct model *m, struct canvas *c, struct paint_area area,
		 const struct paint_series *series)
{
	const struct table_column *column = model_column(m, series->column);
	struct chart k = {.m = m,
			  .of = *series,
			  .to = paint_nr_entries(m),
			  .limit = paint_series_limit(m, series),
			  .x = AXIS_WIDTH + 1,
			  .y = area.y,
			  .height = area.height};
	size_t room;

	if (c->width <= AXIS_WIDTH + 1 || !area.height)
		return;
	k.width = c->width - AXIS_WIDTH - 1;
	room = k.width * (c->is_utf8 ? DOTS_WIDE : 1);
	k.from = k.to > room ? k.to - room : 0;
	find_axis(&k);
	if (reads_the_same(m, column, k.low, k.high))
		k.low = 0;
	paint_axis(m, &k, c, column);
	paint_points(&k, c);
}

/* --- the selected cell --------------------------------------------------------------------------
 */

bool paint_has_detail(const struct model *m)
{
	return m->nr_shown_columns || paint_detail_column(m) != SIZE_MAX;
}

size_t paint_detail_column(const struct model *m)
{
	if (m->focus == MODEL_FOCUS_MACHINE && m->item < m->facts.nr_events &&
	    model_is_item(m, m->item))
		return m->item;
	return m->nr_shown_columns ? m->columns[m->selected_column] : SIZE_MAX;
}

/* A value of the machine has no row. */
static uint32_t detail_row(const struct model *m)
{
	return m->focus == MODEL_FOCUS_MACHINE ? 0 : m->selected_row;
}

static void add_row_name(const struct model *m, struct buf *out)
{
	char text[MODEL_NAME_BYTES];
	uint32_t row = detail_row(m);

	if (row && row <= m->facts.nr_cpus)
		buf_adds(out, "CPU ");
	else if (row && m->view == MODEL_CPUS)
		buf_adds(out, "CPUs ");
	buf_adds(out,
		 m->focus == MODEL_FOCUS_MACHINE ? "the machine" : model_row_name(m, row, text));
}

/* The value, and its quality. */
static void add_number(struct buf *out, const struct table_column *column, const struct cell *cell)
{
	struct unit u = unit_shown(column->kind, column->unit);

	if (!cell || cell->state == CELL_NONE) {
		buf_adds(out, "nothing");
		return;
	}
	screen_cell(out, column->kind, cell);
	if (!cell_has_value(cell) && column->reason && *column->reason) {
		buf_adds(out, " (");
		table_reason(column, out);
		buf_addc(out, ')');
	}
	if (cell_has_value(cell) && *column->unit && column->kind != EVENT_SHARE)
		buf_printf(out, " %s", column->unit);
	if (cell_has_value(cell) && column->kind == EVENT_COUNT && cell->span_ns) {
		buf_adds(out, ", ");
		paint_number(out, column, model_number(column, cell, false), false);
		buf_adds(out, *u.per ? u.per : " of the time");
	}
}

static void add_difference(const struct model *m, struct buf *out, size_t column, size_t series)
{
	static const char *const words[] = {[MODEL_UNKNOWN] = "",
					    [MODEL_INSIDE] = ", within the spread",
					    [MODEL_BEYOND] = ", beyond the spread"};
	struct model_difference d = model_difference(m, detail_row(m), column);
	const struct model_baseline *b = &m->baseline;

	buf_printf(out, " baseline %u-%u: ", b->first, b->last);
	if (isnan(d.amount)) {
		buf_adds(out, "no number to compare with");
		return;
	}
	add_shown(m, out, model_column(m, column), b->spread[series].mean);
	buf_adds(out, d.amount < 0 ? "; now -" : "; now +");
	screen_decimal(out, fabs(d.amount), 1);
	buf_printf(out, " %s%s", d.is_points ? "points" : "%", words[d.spread]);
}

/* Compares the mean since the mark with that of the baseline. */
static void add_mean_difference(const struct model *m, struct buf *out, size_t column,
				size_t series)
{
	static const double nothing_known[2] = {0, 0};
	const struct spread *base = &m->baseline.spread[series];
	struct model_difference d = model_difference(m, detail_row(m), column);
	struct chance_test test;
	struct spread since;
	size_t from, to;

	history_range(&m->history, m->baseline.last + 1, m->shown->table->iteration, &from, &to);
	since = history_spread(&m->history, series, from, to);
	if (!chance_welch(base, &since, nothing_known, &test) || isnan(d.factor))
		return;
	buf_adds(out, since.mean < base->mean ? "; mean since -" : "; mean since +");
	screen_decimal(out, fabs(since.mean - base->mean) * d.factor, 1);
	buf_adds(out, " ± ");
	screen_decimal(out, test.half * d.factor, 1);
	buf_printf(out, " %s, %s", d.is_points ? "points" : "%",
		   test.p < 0.05 ? "significant" : "not significant");
}

void paint_statistics(const struct model *m, struct buf *out, size_t column,
		      const struct history_total *t)
{
	const struct table_column *of = model_column(m, column);
	double deviation = spread_deviation(&t->spread);

	if (!t->spread.nr)
		return;
	buf_adds(out, " min ");
	add_shown(m, out, of, t->min);
	buf_adds(out, "  mean ");
	add_shown(m, out, of, t->spread.mean);
	buf_adds(out, "  max ");
	add_shown(m, out, of, t->max);
	buf_adds(out, "  deviation ");
	add_shown(m, out, of, deviation);
	if (t->spread.mean > 0) {
		buf_adds(out, " (");
		screen_decimal(out, 100 * deviation / t->spread.mean, 1);
		buf_adds(out, " %)");
	}
	buf_adds(out, "  n ");
	buf_u64(out, t->spread.nr);
}

unsigned paint_detail_lines(const struct model *m)
{
	return m->baseline.is_set ? 3 : 2;
}

void paint_detail(const struct model *m, struct canvas *c, struct paint_area area)
{
	size_t column = paint_detail_column(m);
	size_t series = model_series(m, detail_row(m), column);
	const struct table_column *of = model_column(m, column);
	BUF_AUTO(b, PAINT_LINE_BYTES);

	buf_adds(&b, " ");
	add_row_name(m, &b);
	buf_printf(&b, " · %s:%s", of->group, of->name);
	if (strcmp(of->label, of->name) != 0)
		buf_printf(&b, " (%s)", of->label);
	buf_adds(&b, " · ");
	add_number(&b, of, model_cell(m, detail_row(m), column));
	canvas_left(c, 0, area.y, c->width, CANVAS_TITLE, buf_str(&b));
	buf_reset(&b);
	if (series < m->history.nr_series)
		paint_statistics(m, &b, column, &m->history.totals[series]);
	else
		buf_adds(&b, " no history: there are too many rows and columns for one");
	canvas_left(c, 0, area.y + 1, c->width, CANVAS_PLAIN, buf_str(&b));
	if (m->baseline.is_set && series < m->history.nr_series) {
		buf_reset(&b);
		add_difference(m, &b, column, series);
		add_mean_difference(m, &b, column, series);
		canvas_left(c, 0, area.y + 2, c->width, CANVAS_PLAIN, buf_str(&b));
	}
	area.y += paint_detail_lines(m);
	area.height -= paint_detail_lines(m);
	if (area.height && series < m->history.nr_series)
		paint_chart(m, c, area, &(struct paint_series){.column = column, .series = series});
}
