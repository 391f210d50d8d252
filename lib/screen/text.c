/*
 * The text format of an iteration: the table of the original cpuperf, a title and a line per trace,
 * in blocks of columns on a narrow terminal; then things and samples. Programs may read the
 * original's table from a pipe, so there it is in one piece, as wide as it is, unless it has
 * columns that the original does not write so.
 */
#include "screen/absent.h"
#include "screen/number.h"
#include "screen/state.h"

enum { FIRST_MIN_WIDTH = 10, COLUMN_MIN_WIDTH = 11 }; /* as the original has it */

static const struct cell *line_cell(const struct table *t, size_t row, size_t i)
{
	return row < t->nr_rows ? table_cell(t, row, i) : &t->totals[i];
}

static void put_first(struct buf *out, const struct table *t, size_t row, bool with_cpu)
{
	if (row == t->nr_rows) {
		buf_adds(out, "All:");
		return;
	}
	buf_adds(out, "Trace ");
	buf_u64(out, t->row_trace[row]);
	if (t->row_cpu[row] == TABLE_ALL_CPUS) {
		buf_adds(out, " (any CPU)");
	} else if (with_cpu) {
		buf_adds(out, " (CPU ");
		buf_u64(out, t->row_cpu[row]);
		buf_addc(out, ')');
	}
	buf_addc(out, ':');
}

/* Sampled events have a table of their own. */
static bool is_shown(const struct table *t, size_t i)
{
	return !sampled_event_is_sampled(&t->columns[i].sampling);
}

/* Of the whole machine. */
static bool is_of_machine(const struct table_column *c)
{
	return !c->metric && (c->scope == EVENT_SCOPE_SYSTEM || c->scope == EVENT_SCOPE_THINGS);
}

/* True if a row has nothing to show: what counts a target on any CPU has a row of its own. */
static bool is_blank(const struct layout *l, const struct table *t, size_t row)
{
	for (size_t i = 0, k = 1; i < t->nr_columns; i++)
		if (is_shown(t, i) && !l->columns[k++].is_gone &&
		    line_cell(t, row, i)->state != CELL_NONE)
			return false;
	return t->row_cpu[t->nr_rows - 1] == TABLE_ALL_CPUS;
}

/* Counts alone, with commas: what the original prints. */
static bool is_originals(const struct table *t)
{
	for (size_t i = 0; i < t->nr_columns; i++) {
		const struct table_column *c = &t->columns[i];

		if (is_shown(t, i) && (c->metric || c->kind != EVENT_COUNT || is_of_machine(c)))
			return false;
	}
	return true;
}

/* The largest number of a column over the rows, for its colours; of what is a percentage 100; of
 * one number 0. */
static double largest(const struct table *t, size_t i)
{
	const struct table_column *c = &t->columns[i];
	double max = 0, x;
	size_t nr = 0;

	if (unit_is_percent(c->kind, c->unit))
		return 100;
	for (size_t row = 0; row < t->nr_rows; row++) {
		if (!unit_number(c->kind, c->unit, table_cell(t, row, i), &x))
			continue;
		max = x > max ? x : max;
		nr++;
	}
	return nr > 1 ? max : 0;
}

/* Into column k of the layout. */
static void put_cell(struct screen_state *s, const struct table *t, size_t row, size_t i, size_t k)
{
	const struct table_column *c = &t->columns[i];
	const struct cell *cell = line_cell(t, row, i);
	struct layout *l = &s->layout;
	double x;

	if (is_of_machine(c)) /* with its unit, as of things */
		screen_cell_human(&l->text, c->kind, c->unit, cell);
	else
		screen_cell(&l->text, c->kind, cell);
	layout_cell(l, k);
	if (l->has_color && row < t->nr_rows && unit_number(c->kind, c->unit, cell, &x))
		layout_heat(l, x, s->largest[i]);
}

static void counted(struct screen_state *s, const struct table *t, struct buf *out)
{
	/* a line for each row; with metrics one of totals, which the rows do not yield */
	size_t nr_lines = t->nr_rows + (t->nr_events < t->nr_columns);
	struct layout *l = &s->layout;
	bool with_cpu = false;

	for (size_t row = 0; row < t->nr_rows; row++) /* a CPU is offline, or a trace missing */
		with_cpu |= t->row_cpu[row] != t->row_trace[row];
	for (size_t i = 0; l->has_color && i < t->nr_columns; i++)
		s->largest[i] = largest(t, i);
	layout_row(l);
	for (size_t i = 0, k = 1; i < t->nr_columns; i++)
		if (is_shown(t, i))
			layout_text(l, k++, t->columns[i].label);
	for (size_t row = 0; row < nr_lines; row++) {
		if (is_blank(l, t, row))
			continue;
		layout_row(l);
		put_first(&l->text, t, row, with_cpu);
		layout_cell(l, 0);
		for (size_t i = 0, k = 1; i < t->nr_columns; i++)
			if (is_shown(t, i))
				put_cell(s, t, row, i, k++);
	}
	layout_write_blocks(
	    l, is_originals(t) ? s->options.width : screen_columns(s->options.width), out);
	layout_reset(l);
}

static void begin_columns(struct layout *l, const struct table *t)
{
	l->columns[l->nr_columns++] =
	    (struct layout_column){.width = FIRST_MIN_WIDTH, .is_left = true};
	for (size_t i = 0; i < t->nr_columns; i++)
		if (is_shown(t, i))
			l->columns[l->nr_columns++] = (struct layout_column){
			    .width = COLUMN_MIN_WIDTH, .gap = 1, .separator = '|', .is_gone = true};
}

/* What is measured nowhere has no column until it has a number: a CPU may come that can. False if
 * there are no columns. */
static bool find_measured(struct layout *l, const struct table *t)
{
	bool are_any = false;

	for (size_t i = 0, k = 1; i < t->nr_columns; i++) {
		struct layout_column *c = &l->columns[k];

		if (!is_shown(t, i))
			continue;
		c->is_gone = c->is_gone && absent_is(t, NULL, i);
		are_any |= !c->is_gone;
		k++;
	}
	return are_any;
}

void screen_text_iteration(struct screen_state *s, const struct table *t, struct buf *out)
{
	struct layout *l = &s->layout;

	l->has_color = s->options.has_color;
	if (!l->nr_columns) {
		begin_columns(l, t);
		absent_put(t, NULL, screen_columns(s->options.width), out);
	}
	if (find_measured(l, t))
		counted(s, t, out);
	screen_things(s, t, out);
	screen_samples(s, t, out);
}

void screen_text_gap(struct screen_state *s, const struct table *t, const struct screen_gap *gap,
		     struct buf *out)
{
	(void)s, (void)t;
	buf_adds(out, "Not printed: iteration ");
	buf_u64(out, gap->first);
	if (gap->last > gap->first) {
		buf_adds(out, " to ");
		buf_u64(out, gap->last);
	}
	buf_adds(out, ", because earlier output was not read in time\n");
}
