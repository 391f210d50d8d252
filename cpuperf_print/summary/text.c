/*
 * The summary as text: what was measured where, each iteration trace by trace, the totals, and a
 * summary of all iterations.
 */
#include "base/cause.h"
#include "base/str.h"
#include "numbers.h"
#include "screen/absent.h"
#include "screen/layout.h"
#include "summary/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NAME, NUMBER, RATE, RUNNING, NR_PARTS };
enum { MAX_NOTES = 10 }; /* in brief */

/* A line of the header, unless value is empty. */
static void fact(struct summary *s, const char *name, const char *value)
{
	if (value && *value)
		buf_printf(s->out, "%-10s %s\n", name, value);
}

static void header(struct summary *s)
{
	const struct profile_facts *f = s->facts;
	const struct trace_info *info = f->info;
	char id[33];

	str_hex16(f->head.session_id, id);
	fact(s, "Config", *s->input->config_name ? s->input->config_name : "unnamed");
	fact(s, "Session", id);
	fact(s, "Host", f->head.host);
	fact(s, "Machine", f->head.machine);
	if (!info)
		return;
	fact(s, "CPU", info->cpu_model);
	fact(s, "Kernel", info->kernel);
	fact(s, "Tool", info->tool);
}

void summary_add_notes(struct summary *s, const struct profile_trace *trace)
{
	char line[PROFILE_NOTE_BYTES + 16];

	if (trace->target)
		summary_add_target(s, trace);
	for (size_t i = 0; i < trace->nr_notes; i++) {
		snprintf(line, sizeof(line), "Note: %s\n", trace->notes[i]);
		if (!strstr(buf_str(&s->notes), line))
			buf_adds(&s->notes, line);
	}
}

static void add_number(struct buf *b, const struct table_column *column, const struct cell *c)
{
	if (cell_has_value(c))
		screen_number_text(b, column->kind, c);
	else
		buf_adds(b, cell_state_name(c->state));
}

/* Over time, in short; a share is already: false. */
static bool add_rate(struct buf *b, const struct table_column *column, const struct cell *c,
		     double *out)
{
	struct unit u = unit_shown(column->kind, column->unit);

	if (column->kind == EVENT_SHARE || !unit_number(column->kind, column->unit, c, out))
		return false;
	if (column->metric)
		screen_metric_human(b, *out, column->unit);
	else
		screen_rate(b, *out, &u);
	return true;
}

static void put_cell(struct layout *l, const struct table_column *column, const struct cell *c)
{
	char state[CELL_STATE_BYTES];
	double rate;

	layout_row(l);
	buf_printf(&l->text, "  %s", column->label);
	layout_cell(l, NAME);
	add_number(&l->text, column, c);
	layout_cell(l, NUMBER);
	if (column->kind == EVENT_SHARE && cell_has_value(c))
		layout_heat(l, c->value, 100);
	if (add_rate(&l->text, column, c, &rate)) {
		layout_cell(l, RATE);
		if (unit_is_percent(column->kind, column->unit))
			layout_heat(l, rate, 100);
	}
	if (cell_has_value(c) && c->is_perf)
		screen_running(&l->text, cell_running_share(c));
	layout_cell(l, RUNNING);
	if (cell_is_partial(c))
		buf_adds(&l->text, cell_state_text(c, state));
	if (c->limit)
		buf_printf(&l->text, "%s%s", cell_is_partial(c) ? "  " : "",
			   screen_limit_name(c->limit));
	if (cell_is_partial(c) || c->limit)
		layout_tail(l);
}

static void put_block(struct summary *s, const char *name, const struct cell *cells)
{
	const struct table *t = s->table;
	struct layout_column columns[] = {
	    [NAME] = {.width = 18, .is_fixed = true, .is_left = true},
	    [NUMBER] = {.gap = 1, .width = 21, .is_fixed = true},
	    [RATE] = {.gap = 1, .width = 11, .is_fixed = true},
	    [RUNNING] = {.gap = 1, .width = 8, .is_fixed = true},
	};
	bool is_empty = true; /* its CPU is not selected */
	struct layout l;

	for (size_t i = 0; i < t->nr_columns; i++) {
		unsigned width = screen_width(t->columns[i].label) + 2;

		if (absent_is(t, NULL, i))
			continue;
		is_empty &= cells[i].state == CELL_NONE;
		if (width > columns[NAME].width)
			columns[NAME].width = width;
	}
	if (is_empty)
		return;
	layout_init(&l, columns, NR_PARTS);
	l.has_color = s->j->output->has_color;
	layout_row(&l);
	layout_text(&l, NAME, name);
	layout_text(&l, NUMBER, "number");
	layout_text(&l, RATE, "in short");
	layout_text(&l, RUNNING, "running");
	for (size_t i = 0; i < t->nr_columns; i++)
		if (cells[i].state != CELL_NONE && !absent_is(t, NULL, i))
			put_cell(&l, &t->columns[i], &cells[i]);
	buf_addc(s->out, '\n');
	layout_write(&l, 1, NR_PARTS, s->out);
	layout_fini(&l);
}

/* Merges a row: all rows agree, except that rings can differ in size. */
static void add_row(struct table_sampling *sum, uint64_t *max_ring, const struct table_sampling *s)
{
	if (s->ring_bytes && (!sum->ring_bytes || s->ring_bytes < sum->ring_bytes))
		sum->ring_bytes = s->ring_bytes;
	if (s->ring_bytes > *max_ring)
		*max_ring = s->ring_bytes;
	if (s->max_rate_start)
		sum->max_rate_start = s->max_rate_start;
	if (s->held_to_ns && (!sum->held_to_ns || s->held_from_ns < sum->held_from_ns))
		sum->held_from_ns = s->held_from_ns;
	if (s->held_to_ns > sum->held_to_ns)
		sum->held_to_ns = s->held_to_ns;
	sum->paused += s->paused;
	if (s->trigger[0])
		memcpy(sum->trigger, s->trigger, sizeof(sum->trigger));
	if (s->ticks > sum->ticks)
		sum->ticks = s->ticks;
	if (s->ticks_missed > sum->ticks_missed)
		sum->ticks_missed = s->ticks_missed;
}

static void put_time(struct buf *out, uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	char text[64];
	struct tm tm;

	if (realtime_ns && gmtime_r(&seconds, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		buf_printf(out, " until %s.%03u UTC", text,
			   (unsigned)(realtime_ns % 1000000000 / 1000000));
}

/* first: the cause of the first iteration. */
static void put_title(struct buf *out, const struct table *t, uint32_t first)
{
	buf_printf(out, "\nIteration %" PRIu32 ":", t->iteration);
	if (t->end_ns >= t->start_ns)
		buf_printf(out, " %s", HUMAN((double)(t->end_ns - t->start_ns), "ns"));
	put_time(out, t->realtime_ns);
	if (t->cause != first)
		buf_printf(out, ", cause: %s", cause_name(t->cause));
	if (t->gap_ns)
		buf_printf(out, ", %s before it not measured", HUMAN((double)t->gap_ns, "ns"));
	buf_addc(out, '\n');
}

static const char *unit_of(uint64_t bytes)
{
	return bytes < 1 << 20 ? " KiB" : " MiB";
}

static uint64_t in_units(uint64_t bytes)
{
	return bytes < 1 << 20 ? bytes >> 10 : bytes >> 20;
}

/* How the iteration was sampled, for readers who miss samples. */
static void sampling(struct summary *s)
{
	struct table_sampling sum = {0};
	uint64_t max_ring = 0;

	for (size_t row = 0; s->table->sampled && row < s->table->nr_rows; row++)
		add_row(&sum, &max_ring, &s->table->row_sampling[row]);
	if (max_ring)
		buf_printf(s->out, "Rings:  %s%s", COMMAS(in_units(sum.ring_bytes)),
			   unit_of(sum.ring_bytes));
	if (max_ring > sum.ring_bytes)
		buf_printf(s->out, " to %s%s", COMMAS(in_units(max_ring)), unit_of(max_ring));
	if (max_ring)
		buf_adds(s->out, " for a CPU\n");
	if (sum.held_to_ns)
		buf_printf(
		    s->out, "Held:   samples of the last %s; %s not taken while they were copied\n",
		    HUMAN((double)(sum.held_to_ns - sum.held_from_ns), "ns"), COMMAS(sum.paused));
	if (sum.trigger[0])
		buf_printf(s->out, "Trigger: %s\n", sum.trigger);
	if (sum.max_rate_start)
		buf_printf(s->out, "Limit:  %s samples per second, the kernel's\n",
			   COMMAS(sum.max_rate_start));
	if (sum.ticks || sum.ticks_missed)
		buf_printf(s->out,
			   "Ticks:  %s readings at the timebase's pace (1,000 a second at most), "
			   "missed: %s\n",
			   COMMAS(sum.ticks), COMMAS(sum.ticks_missed));
}

/* The answer about a target, which was measured once or in runs. */
static bool is_answer(const struct summary *s)
{
	if (s->j->selection->each_iteration || !s->target.flags)
		return false;
	return s->j->is_brief || (s->j->is_default &&
				  (s->facts->nr_iterations == 1 || s->totals->cause == CAUSE_RUN));
}

/* At most so many lines of them; 0: all. */
static void put_notes(struct summary *s, size_t max)
{
	const char *at = buf_str(&s->notes), *end = at + s->notes.len, *line, *stop;
	size_t nr = 0;

	while ((line = str_next_line(&at, end, &stop)))
		if (++nr <= max || !max)
			buf_printf(s->out, "%.*s\n", (int)(stop - line), line);
	if (max && nr > max)
		buf_printf(s->out, "Note: and %zu more: --each-iteration\n", nr - max);
	if (buf_error(&s->notes))
		buf_adds(s->out, "Note: there are more notes than shown\n");
}

static void put_iteration(struct summary *s)
{
	const struct table *t = s->table;
	char name[48];

	if (!s->j->selection->each_iteration)
		return;
	if (!s->has_header)
		header(s);
	s->has_header = true;
	put_title(s->out, t, s->totals->cause);
	put_notes(s, 0);
	buf_reset(&s->notes);
	sampling(s);
	for (size_t row = 0; row < t->nr_rows; row++) {
		if (t->row_cpu[row] == TRACE_ANY_CPU)
			snprintf(name, sizeof(name), "Trace %" PRIu32 ", any CPU",
				 t->row_trace[row]);
		else
			snprintf(name, sizeof(name), "Trace %" PRIu32 ", CPU %" PRIu32,
				 t->row_trace[row], t->row_cpu[row]);
		put_block(s, name, table_cell(t, row, 0));
	}
	if (t->nr_rows > 1 || t->nr_events < t->nr_columns)
		put_block(s, "All traces", t->totals);
	if (t->nr_things)
		buf_addc(s->out, '\n');
	screen_things(s->screen, t, s->out);
	if (t->sampled)
		buf_addc(s->out, '\n');
	screen_samples(s->screen, t, s->out);
}

/* What the titles of iterations would have. */
static void put_measured(struct summary *s)
{
	buf_printf(s->out, "%-10s %s", "Measured", HUMAN((double)s->totals->measured_ns, "ns"));
	put_time(s->out, s->table->realtime_ns);
	buf_addc(s->out, '\n');
}

static void put_totals(struct summary *s)
{
	const bool has_iterations = s->has_header;

	if (!has_iterations && !is_answer(s)) {
		header(s);
		if (s->totals->nr_iterations)
			put_measured(s);
	}
	if (!has_iterations)
		put_notes(s, MAX_NOTES);
	if (is_answer(s))
		summary_target(s);
	else if (s->totals->nr_iterations)
		screen_format_find("text")->summary(s->screen, s->table, s->totals, s->out);
	if (!has_iterations && !is_answer(s))
		summary_put_things(s);
}

const struct summary_format summary_text = {
    .sums_things = true,
    .trace = summary_add_notes,
    .iteration = put_iteration,
    .end = put_totals,
};
