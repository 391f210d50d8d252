/*
 * The report series, counts over time: csv and ndjson have a row for each point, text has a line
 * for each event with its shape.
 */
#include "counts/series.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/opt_std.h"
#include "counts/lines.h"
#include "numbers.h"
#include "reports/columns.h"
#include "reports/reports.h"
#include "screen/layout.h"
#include "tables.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 256 };
enum { TOP = 10, FEW_CPUS = 4, DEFAULT_WIDTH = 100, MIN_SHAPE = 10, CELL_BYTES = 512 };

struct points {
	struct job *j;
	struct grid *g;
	size_t nr_waiting;
	uint64_t nr_cpus; /* of the machine; 0: unknown */
	struct err *e;
};

static const struct grid_column point_columns[] = {
    {"time_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"monotonic_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"span_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"iteration", NULL, NULL, GRID_NUMBER, GRID_ALL},
    {"cpu", NULL, NULL, GRID_CPU, GRID_ALL},
    {"group", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"event", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"label", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"thing", NULL, NULL, GRID_NUMBER, GRID_ALL},
    {"thing_name", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"kind", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"state", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"value", NULL, NULL, GRID_REAL, GRID_ALL},
    {"unit", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"raw", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"base", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"enabled_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"running_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"weight", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"limit", NULL, NULL, GRID_REAL, GRID_ALL},
};

static void put_count(struct grid *g, bool holds, uint64_t n)
{
	holds ? grid_count(g, n) : grid_none(g);
}

static int put_point(void *arg, const struct counts_series_point *p)
{
	struct points *w = arg;
	struct grid *g = w->g;
	const struct cell *c = p->cell;
	const bool has_value = cell_has_value(c), is_counted = c->is_perf && !p->of->metric;
	char state[CELL_STATE_BYTES], unit[COUNTS_SERIES_UNIT_BYTES];
	double value, limit;
	int rc;

	w->j->output->nr_records++;
	grid_row(g);
	put_count(g, p->end_ns >= p->origin_ns, p->end_ns - p->origin_ns);
	grid_count(g, p->end_ns);
	put_count(g, c->span_ns != 0, c->span_ns);
	grid_count(g, p->iteration);
	grid_count(g, p->cpu);
	grid_text(g, p->of->group);
	grid_text(g, p->of->name);
	grid_text(g, p->of->label);
	put_count(g, p->thing != NULL, p->thing ? p->thing->number : 0);
	p->thing ? grid_text(g, p->thing->name) : grid_none(g);
	grid_text(g, p->is_samples ? "samples" : table_kind_name(p->of));
	grid_text(g, cell_state_text(c, state));
	counts_series_value(p, &value) ? grid_real(g, value) : grid_none(g);
	grid_text(g, counts_series_unit(p, unit));
	put_count(g, has_value && !p->of->metric, c->raw);
	put_count(g, has_value && p->of->kind == EVENT_SHARE && !p->is_samples, c->base);
	put_count(g, is_counted, c->enabled_ns);
	put_count(g, is_counted, c->running_ns);
	put_count(g, p->is_samples, p->weight);
	limit = table_limit_shown(p->of, w->nr_cpus, !p->thing);
	isnan(limit) ? grid_none(g) : grid_real(g, limit);
	if (++w->nr_waiting < ROWS_AT_ONCE)
		return 0;
	w->nr_waiting = 0;
	rc = grid_write(g, &w->j->output->text);
	return rc ? err_set(w->e, rc, "cannot be printed: %s", strerror(-rc))
		  : output_flush(w->j->output, w->e);
}

static int print_points(struct job *j, const struct input *o, struct err *e)
{
	struct points w = {.j = j, .e = e, .nr_cpus = o->facts->info ? o->facts->info->nr_cpus : 0};

	w.g = reports_grid(j, point_columns, sizeof(point_columns) / sizeof(point_columns[0]));
	if (!w.g)
		return err_set(e, -ENOMEM, "out of memory");
	return reports_end(j, w.g, tables_series(j, o, put_point, &w, e), e);
}

/* --- text ------------------------------------------------------------------------------------ */

enum { NAME, LOWEST, MEAN, HIGHEST, RUNNING, SHAPE, NR_CELLS };

static const char *const headers[NR_CELLS] = {"event",   "lowest",  "mean",
					      "highest", "running", "over time"};

/* The table that is being printed. */
struct shown {
	struct job *j;
	const struct counts_lines *lines;
	bool each_cpu, has_utf8;
	unsigned shape_width; /* marks; 0: not known yet */
	struct layout_column columns[NR_CELLS];
	struct layout layout;
};

static void add_number(struct buf *b, const struct counts_line *l, double x)
{
	if (l->of.metric) {
		screen_metric_human(b, x, l->of.unit);
		buf_adds(b, l->unit.per);
	} else {
		screen_rate(b, x, &l->unit);
	}
}

static void add_name(struct buf *b, const struct counts_line *l)
{
	if (l->thing)
		buf_printf(b, "  %s", l->thing);
	else if (l->cpu != COUNTS_NO_CPU)
		buf_printf(b, "  CPU %u", l->cpu);
	else
		buf_adds(b, l->of.label);
	if (l->is_samples && l->cpu == COUNTS_NO_CPU)
		buf_adds(b, " (samples)");
	if (l->of.kind == EVENT_VALUE && l->of.scope == EVENT_SCOPE_CPU && !l->of.metric &&
	    l->cpu == COUNTS_NO_CPU)
		buf_adds(b, " (mean)");
}

/* One mark of the shape. The scale starts at 0 unless numbers are negative. */
static const char *level(const struct shown *s, double x, double low, double high)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const marks[] = {".", ":", "-", "=", "+", "*", "#", "#"};
	double part = high > low ? (x - low) / (high - low) : 0;
	int k = (int)fmin(fmax(part * 8, 0), 7);

	if (isnan(x))
		return " ";
	return s->has_utf8 ? blocks[k] : marks[k];
}

static void put_shape(struct shown *s, size_t i)
{
	double shape[COUNTS_LINES_SLICES], low = 0, high = 0;
	size_t nr = s->shape_width, last = 0;

	counts_lines_shape(s->lines, i, shape, nr);
	for (size_t k = 0; k < nr; k++) {
		low = fmin(low, shape[k]); /* NAN is neither */
		high = fmax(high, shape[k]);
		last = isnan(shape[k]) ? last : k + 1;
	}
	high = fmin(high, counts_lines_at(s->lines, i)->limit);
	for (size_t k = 0; k < last; k++)
		buf_adds(&s->layout.text, level(s, shape[k], low, high));
	layout_cell(&s->layout, SHAPE);
}

static void put_no_number(struct shown *s, const struct counts_line *l)
{
	const char *state = l->quality.nr_without ? cell_state_name(l->quality.state) : "";
	struct buf *b = &s->layout.text;

	buf_adds(b, "n/a");
	if (*state && l->quality.state != CELL_NA)
		buf_printf(b, ": %s", state);
	if (l->of.reason && *l->of.reason) {
		buf_adds(b, ": ");
		table_reason(&l->of, b);
	}
	layout_tail(&s->layout);
}

static void put_line(struct shown *s, size_t i)
{
	const struct counts_line *l = counts_lines_at(s->lines, i);
	const double numbers[] = {[LOWEST] = l->min, [MEAN] = l->mean, [HIGHEST] = l->max};
	char state[CELL_STATE_BYTES];
	struct buf *b = &s->layout.text;

	layout_row(&s->layout);
	add_name(b, l);
	layout_cell(&s->layout, NAME);
	if (!l->has_number) {
		put_no_number(s, l);
		return;
	}
	for (size_t k = LOWEST; k <= HIGHEST; k++) {
		add_number(b, l, numbers[k]);
		layout_cell(&s->layout, k);
	}
	if (l->quality.running < 1)
		screen_running(b, l->quality.running);
	layout_cell(&s->layout, RUNNING);
	if (s->shape_width)
		put_shape(s, i);
	if (s->shape_width && cell_is_short(&l->quality.least)) {
		buf_printf(b, "(%s)", cell_state_text(&l->quality.least, state));
		layout_tail(&s->layout);
	}
}

static bool is_wanted(const struct shown *s, const struct counts_line *l)
{
	const struct trace_event ev = {.group = l->of.group, .name = l->of.name};

	if (!l->has_number && l->cpu != COUNTS_NO_CPU)
		return false; /* the reason is in the line of the event */
	return profile_filter_has_event(&s->j->selection->filter, &ev);
}

/* Appends all lines, at most --top things of each event. Returns how many are omitted. */
static uint64_t put_all(struct shown *s)
{
	uint64_t top = reports_top(s->j, TOP), nr_things = 0, nr_left = 0;
	uint32_t column = UINT32_MAX;

	for (size_t i = 0; i < counts_lines_nr(s->lines); i++) {
		const struct counts_line *l = counts_lines_at(s->lines, i);

		nr_things = l->column == column ? nr_things : 0;
		column = l->column;
		if (!is_wanted(s, l))
			continue;
		if (l->thing && nr_things++ >= top)
			nr_left++;
		else
			put_line(s, i);
	}
	return nr_left;
}

/* The shape gets what the widest cells of the other columns leave. */
static void measure(struct shown *s)
{
	const unsigned columns = output_columns(s->j->output);
	unsigned used = 2, all = s->j->output->width       ? s->j->output->width
				 : columns < DEFAULT_WIDTH ? columns
							   : DEFAULT_WIDTH;

	for (int k = 0; k < NR_CELLS; k++)
		s->columns[k] =
		    (struct layout_column){.gap = k ? 2 : 0, .is_left = k == NAME || k == SHAPE};
	s->columns[SHAPE].is_fixed = true;
	put_all(s);
	layout_reset(&s->layout);
	layout_row(&s->layout);
	for (size_t k = 0; k < NR_CELLS; k++) {
		if (k != RUNNING || s->columns[k].width)
			layout_text(&s->layout, k, headers[k]);
		else
			s->columns[k].gap = 0;
		used += s->columns[k].width + (k < SHAPE ? s->columns[k].gap : 0);
	}
	layout_reset(&s->layout);
	s->shape_width = all > used + MIN_SHAPE ? all - used : MIN_SHAPE;
	if (s->shape_width > COUNTS_LINES_SLICES)
		s->shape_width = COUNTS_LINES_SLICES;
}

static void put_header(struct shown *s)
{
	struct buf *b = &s->j->output->text;
	double span_ns = (double)counts_lines_span_ns(s->lines);

	buf_printf(b, "\nOver time: %s", HUMAN(span_ns, "ns"));
	if (counts_lines_start_ns(s->lines))
		buf_printf(b, " from %s", HUMAN((double)counts_lines_start_ns(s->lines), "ns"));
	buf_printf(b, "; each mark is %s\n", HUMAN(span_ns / s->shape_width, "ns"));
	layout_row(&s->layout);
	layout_look(&s->layout, LAYOUT_BOLD);
	for (size_t k = 0; k < NR_CELLS; k++)
		if (s->columns[k].gap || k == NAME)
			layout_text(&s->layout, k, headers[k]);
}

static int put_lines(struct shown *s, struct err *e)
{
	const size_t start = s->j->output->text.len;
	uint64_t nr_left;

	if (!counts_lines_nr(s->lines)) {
		buf_adds(&s->j->output->text, "\nNothing was measured in this period\n");
		return output_flush(s->j->output, e);
	}
	layout_init(&s->layout, s->columns, NR_CELLS);
	s->layout.has_color = s->j->output->has_color;
	measure(s);
	put_header(s);
	nr_left = put_all(s);
	layout_write(&s->layout, 1, NR_CELLS, &s->j->output->text);
	layout_fini(&s->layout);
	if (!s->j->output->has_color)
		reports_wrap(s->j, start);
	nr_left += counts_lines_nr_skipped(s->lines);
	if (nr_left)
		buf_printf(&s->j->output->text, "%s more lines are omitted (--top=0 shows all)\n",
			   COMMAS(nr_left));
	return output_flush(s->j->output, e);
}

/* If CPUs are few or selected. */
static bool shows_each_cpu(const struct job *j, const struct input *o)
{
	uint64_t nr = o->facts->nr_traces;

	return (nr > 1 && nr <= FEW_CPUS) || j->selection->columns & 1 << REPORT_CPU ||
	       j->selection->filter.cpus.nr;
}

static int print_lines(struct job *j, const struct input *o, struct err *e)
{
	struct shown s = {.j = j, .has_utf8 = opt_std_has_utf8(), .each_cpu = shows_each_cpu(j, o)};
	struct counts_lines *lines;
	int rc = tables_lines(j, o, s.each_cpu, NULL, NULL, &lines, e);

	if (rc)
		return rc;
	s.lines = lines;
	rc = put_lines(&s, e);
	counts_lines_free(lines);
	return rc;
}

int reports_series(struct job *j, struct err *e)
{
	const struct input *o = job_input(j);

	return j->output->form == GRID_PEOPLE ? print_lines(j, o, e) : print_points(j, o, e);
}
