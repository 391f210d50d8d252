/*
 * The reports flat, threads and waits; threads and waits are flat with other columns.
 */
#include "report/flat.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "numbers.h"
#include "report/functions.h"
#include "report/idle.h"
#include "report/states.h"
#include "report/waker.h"
#include "reports/columns.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TOP = 40, IDLE_LINE_BYTES = 1024 };

/* The report that is being printed. */
struct flat {
	struct job *j;
	unsigned columns;
	bool has_total;
	bool waits_in_program; /* a wait counts at the program's function */
	struct report_flat *flat;
	struct reports_programs *programs; /* of the answer; else NULL */
	struct reports_commands *commands; /* the same */
	struct report_idle *idle;          /* the same, that folds waits for work; else NULL */
	struct report_idle_sum folded;
	const struct report_flat_row *rows;
	size_t nr_rows;
	struct report_flat_row *own; /* owned; NULL: the rows are those of flat */
	struct report_stats stats;
	/* By event and session, if rows have a session: the wholes of shares. Else NULL. */
	struct report_weight *of_sessions;
};

static struct report_weight *of_session(const struct flat *f, const struct report_flat_row *row)
{
	return &f->of_sessions[row->column[REPORT_EVENT] * f->j->nr + row->column[REPORT_SESSION] -
			       f->j->first];
}

static int add_sessions(struct flat *f)
{
	if (!(f->columns >> REPORT_SESSION & 1))
		return 0;
	f->of_sessions = mem_calloc(f->stats.nr_events * f->j->nr + 1, sizeof(*f->of_sessions));
	for (size_t i = 0; i < f->nr_rows && f->of_sessions; i++)
		report_weight_add(of_session(f, &f->rows[i]), &f->rows[i].self);
	return f->of_sessions ? 0 : -ENOMEM;
}

/* The whole of the row's share. */
static const struct report_weight *whole_of(const struct flat *f, const struct report_flat_row *row)
{
	return f->of_sessions ? of_session(f, row)
			      : &f->stats.event[row->column[REPORT_EVENT]].counted;
}

/* Where an answer has waits in a table of their own: what ran on a CPU. */
static bool is_on_cpu(const struct flat *f, uint32_t event)
{
	return report_states_of(job_input(f->j)->facts, &f->j->selection->filter, event) ==
	       REPORT_ON_CPU;
}

/* For programs all events are one table. */
static unsigned columns_of(const struct flat *f, uint32_t event)
{
	return f->j->sum == REPORT_SUM_WAITS && f->j->output->form == GRID_PEOPLE &&
		       is_on_cpu(f, event)
		   ? f->columns & ~(1u << REPORT_STATE)
		   : f->columns;
}

static struct grid *make_grid(const void *flat, uint32_t event)
{
	const struct flat *f = flat;
	const char *unit = job_event(f->j, event)->unit;
	struct grid_column columns[6 + REPORT_NR_COLUMNS] = {
	    {"event", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"self", NULL, NULL, GRID_SHARE, GRID_ALL},
	    {"total", NULL, NULL, GRID_SHARE, GRID_ALL, .leaves = 3},
	    {"self_samples", "samples", NULL, GRID_COUNT, GRID_ALL, .leaves = 1},
	    {"self_count", "count", unit, GRID_AMOUNT, GRID_ALL, .leaves = 2},
	    {"total_count", NULL, unit, GRID_AMOUNT, GRID_ONLY_MACHINES},
	};
	size_t nr = 6;

	if (!f->has_total)
		columns[2].audience = GRID_ONLY_MACHINES;
	nr += reports_add_columns(columns_of(f, event), columns + nr);
	return reports_grid(f->j, columns, nr);
}

static void put_row(struct flat *f, struct grid *g, const struct report_flat_row *row)
{
	uint32_t event = row->column[REPORT_EVENT];
	struct interval self = reports_self_share(&row->self, &row->total, whole_of(f, row));
	struct interval total = reports_share_of(&row->total, whole_of(f, row));

	grid_row(g);
	grid_text(g, job_event(f->j, event)->label);
	/* beside shares with an interval */
	f->j->output->form == GRID_PEOPLE &&whole_of(f, row)->random &&reports_is_exactly_none(
				  &row->self, &row->total)
	    ? grid_none(g)
	    : grid_share(g, &self);
	f->has_total ? grid_share(g, &total) : grid_none(g);
	grid_count(g, reports_nr_samples(f->j, &f->stats, event, &row->self));
	grid_count(g, reports_amount(f->j, event, row->self.weight));
	f->has_total ? grid_count(g, reports_amount(f->j, event, row->total.weight)) : grid_none(g);
	reports_put_columns(f->j, columns_of(f, event), row, g);
}

static uint32_t event_at(const void *flat, size_t at)
{
	const struct flat *f = flat;

	return f->rows[at].column[REPORT_EVENT];
}

/* Of an event: its rows, of which so many are printed. */
struct places {
	size_t first, cut, end;
};

static struct places find_places(const struct flat *f, size_t first, uint64_t top)
{
	struct places p = {.first = first, .end = first};

	while (p.end < f->nr_rows && event_at(f, p.end) == event_at(f, first))
		p.end++;
	p.cut = first + (size_t)(top < p.end - first ? top : p.end - first);
	return p;
}

/* The usual rows of an answer's waits are half of those on CPU. */
static uint64_t top_of(const struct flat *f, uint32_t event)
{
	const uint64_t top = reports_top(f->j, TOP);

	return f->j->sum == REPORT_SUM_WAITS && !f->j->fitted_top && !is_on_cpu(f, event)
		   ? top / 2 + top % 2
		   : top;
}

static bool is_wanted(const struct flat *f, const struct report_flat_row *row)
{
	return !(f->columns >> REPORT_FUNCTION & 1) ||
	       reports_is_wanted(f->j, report_functions_at(f->j->inputs->functions,
							   row->column[REPORT_FUNCTION]));
}

static void put_rows(struct flat *f, struct grid *g, const struct places *p,
		     struct reports_rest *rest)
{
	const double min = reports_min_share(f->j, 0);

	for (size_t i = p->first; i < p->end; i++) {
		const struct report_flat_row *row = &f->rows[i];
		bool has_self = row->self.samples || f->has_total;
		bool is_small =
		    !has_self || reports_share_of(&row->total, whole_of(f, row)).share < min;
		bool has_place = i < p->cut;

		if (!is_wanted(f, row))
			continue;
		/* it only calls others */
		if (f->waits_in_program && f->j->output->form == GRID_PEOPLE && !row->self.samples)
			continue;
		if (has_place && !is_small)
			put_row(f, g, row);
		else
			reports_rest_add(rest, &row->self, !has_place, is_small);
	}
}

static void put_nameless(struct flat *f, const struct places *p, struct grid *g)
{
	if (f->j->output->form == GRID_PEOPLE && f->has_total && !f->of_sessions &&
	    f->columns >> REPORT_FUNCTION & 1)
		reports_nameless(f->j, &f->rows[p->first], p->end - p->first, g);
}

/* "idle: 14 threads, 12.3 s waiting for work or events: condition in next_job, …" */
static void make_idle_line(const struct flat *f, struct buf *out)
{
	enum { NR_PLACES = 3 };
	const struct report_idle_sum *s = &f->folded;

	buf_printf(out, "idle: %s %s, %s waiting for work or events: ", COMMAS(s->nr_threads),
		   str_plural(s->nr_threads, "thread", "threads"),
		   HUMAN((double)s->weight.weight, "ns"));
	for (size_t i = 0; i < s->nr_places && i < NR_PLACES; i++)
		buf_printf(
		    out, "%s%s in %s", i ? ", " : "", s->places[i].reason,
		    report_functions_at(f->j->inputs->functions, s->places[i].function)->name);
	buf_adds(out, s->nr_places > NR_PLACES ? ", … (--idle=show)" : " (--idle=show)");
	if (f->j->selection->rows)
		screen_shorten(out, 0, job_columns(f->j));
}

static void put_idle(const struct flat *f, uint32_t event, struct grid *g)
{
	BUF_AUTO(line, IDLE_LINE_BYTES);

	if (!f->folded.weight.samples || event != f->folded.event)
		return;
	make_idle_line(f, &line);
	grid_line(g, buf_str(&line));
}

/* All waits are for work: they have no table. */
static int put_idle_alone(const struct flat *f, struct err *e)
{
	struct buf *text = &f->j->output->text;
	BUF_AUTO(line, IDLE_LINE_BYTES);

	if (!f->folded.weight.samples || f->folded.rest.samples || job_is_tight(f->j))
		return 0;
	make_idle_line(f, &line);
	buf_addc(text, '\n');
	reports_headline(f->j, &line);
	return output_flush(f->j->output, e);
}

static size_t put_event(void *flat, struct grid *g, size_t first)
{
	struct flat *f = flat;
	const uint32_t event = event_at(f, first);
	const struct places p = find_places(f, first, top_of(f, event));
	struct reports_rest rest = {.nr = 0};
	struct interval share;

	if (f->j->is_brief) /* an answer begins with what its rows cannot name */
		put_nameless(f, &p, g);
	put_rows(f, g, &p, &rest);
	share = reports_share(&f->stats, event, &rest.weight);
	reports_rest_put(f->j, &rest, &share, g);
	put_idle(f, event, g);
	if (!f->j->is_brief)
		put_nameless(f, &p, g);
	/* on a small screen the waits are a number in the summary */
	return p.end < f->nr_rows && !(f->j->sum == REPORT_SUM_WAITS && job_is_tight(f->j))
		   ? p.end
		   : REPORTS_END;
}

static const struct reports_tables tables = {make_grid, event_at, put_event};

/* The answer has the heap in a table of its own (reports_heap). 0 or -ENOMEM. */
static int omit_heap(struct flat *f)
{
	struct report_flat_row *rest;
	size_t nr = 0;

	if (!f->j->is_brief || !reports_has_heap(job_input(f->j)->facts))
		return 0;
	f->own = rest = mem_calloc(f->nr_rows + 1, sizeof(*rest));
	if (!rest)
		return -ENOMEM;
	for (size_t i = 0; i < f->nr_rows; i++)
		if (strcmp(job_event(f->j, event_at(f, i))->group, "heap") != 0)
			rest[nr++] = f->rows[i];
	f->rows = rest;
	f->nr_rows = nr;
	return 0;
}

/* An answer that has waits alone says what it lacks. */
static void say_what_did_not_run(const struct flat *f)
{
	if (f->j->sum != REPORT_SUM_WAITS || !f->nr_rows)
		return;
	for (uint32_t i = 0; i < f->stats.nr_events; i++)
		if (is_on_cpu(f, i) && !f->stats.event[i].counted.samples)
			reports_without_samples(f->j, &f->stats, i);
}

/* The answer says what to look at next by what it has found. */
static void add_findings(struct flat *f)
{
	if (f->j->sum == REPORT_SUM_WAITS) {
		f->j->output->conclusion.idle_ns = (double)f->folded.weight.weight;
		conclusion_add_waits(f->j, f->rows, f->nr_rows);
	}
	if (!f->j->is_brief || f->j->nr != 1 || !(f->columns >> REPORT_FUNCTION & 1))
		return;
	for (size_t i = 0; i < f->nr_rows; i++)
		if (is_on_cpu(f, event_at(f, i)))
			conclusion_add_function(f->j, &f->rows[i], whole_of(f, &f->rows[i]));
}

/* What receives the samples. */
static const struct report_sink *make_sink(struct flat *f)
{
	const struct report_sink *sink = report_flat_sink(f->flat);

	if (!f->j->is_brief)
		return sink;
	if (f->j->sum == REPORT_SUM_WAITS && !f->j->selection->shows_idle &&
	    !f->j->selection->with_wakers)
		f->idle =
		    report_idle_new(f->j->inputs->functions, &f->j->selection->idle_rules, sink);
	sink = f->idle ? report_idle_sink(f->idle) : sink;
	f->programs = f->has_total ? reports_programs_new(f->j, sink) : NULL;
	sink = f->programs ? reports_programs_sink(f->programs) : sink;
	f->commands = reports_commands_new(f->j, sink);
	return f->commands ? reports_commands_sink(f->commands) : sink;
}

/* Shares are of the waits that are left. 0 or -errno with *e. */
static int fold_idle(struct flat *f, struct err *e)
{
	int rc = f->idle ? report_idle_end(f->idle) : 0;

	if (rc)
		return err_set(e, rc, "samples cannot be added up: %s", strerror(-rc));
	if (f->idle)
		report_idle_sum(f->idle, &f->folded);
	if (f->folded.weight.samples)
		f->stats.event[f->folded.event].counted = f->folded.rest;
	return 0;
}

/* 0 or -errno with *e. */
static int put_answer(struct flat *f, struct err *e)
{
	const bool has_rows = f->nr_rows || !f->folded.weight.samples;

	add_findings(f);
	say_what_did_not_run(f);
	return (f->commands ? reports_commands_put(f->commands, e) : 0)
		   ?: (has_rows ? reports_put_tables(f->j, &f->stats, &tables, f,
						     f->nr_rows ? 0 : REPORTS_END, e)
				: 0)
		   ?: put_idle_alone(f, e);
}

static int print_flat(struct job *j, unsigned columns, bool waits_in_program, struct err *e)
{
	struct flat f = {.j = j, .columns = columns, .waits_in_program = waits_in_program};
	int rc = 0;

	f.has_total = reports_has_callers(j) &&
		      (columns & (1 << REPORT_FUNCTION | 1 << REPORT_OBJECT | 1 << REPORT_LINE));
	f.waits_in_program |= j->sum == REPORT_SUM_WAITS;
	f.flat = report_flat_new(j->inputs->functions, columns, f.has_total);
	if (f.flat && f.waits_in_program)
		report_flat_put_in_program(f.flat, true);
	if (f.flat)
		rc = samples_read(j, j->first, j->nr, make_sink(&f), &f.stats, e)
			 ?: fold_idle(&f, e);
	if (rc == 0 && f.flat)
		f.rows = (j->selection->by_total ? report_flat_rows_by_total
						 : report_flat_rows)(f.flat, &f.nr_rows);
	if (rc == 0 && (!f.rows || omit_heap(&f) || add_sessions(&f)))
		rc = err_set(e, -ENOMEM, "out of memory");
	if (rc == 0 && columns >> REPORT_FUNCTION & 1 &&
	    !reports_check_functions(j, f.rows, f.nr_rows))
		rc = output_flush(j->output, e);
	else if (rc == 0 && f.nr_rows && (j->selection->by_session || j->selection->by_host) &&
		 j->nr > 1 && j->output->form == GRID_PEOPLE &&
		 reports_have_room(j, j->selection->by_host))
		rc = reports_side_by_side(j, columns, &f.stats, f.rows, f.nr_rows, e);
	else if (rc == 0)
		rc = put_answer(&f, e);
	report_flat_free(f.flat);
	report_idle_free(f.idle);
	reports_programs_free(f.programs);
	reports_commands_free(f.commands);
	report_stats_fini(&f.stats);
	mem_free(f.of_sessions);
	mem_free(f.own);
	return rc;
}

/* In text a single session is named above its table. */
static unsigned session_column(const struct job *j)
{
	const bool is_shown = j->nr > 1 || j->output->form != GRID_PEOPLE;

	if (j->selection->by_host && is_shown)
		return 1u << REPORT_HOST;
	return j->selection->by_session && is_shown ? 1u << REPORT_SESSION : 0;
}

int reports_flat(struct job *j, struct err *e)
{
	unsigned columns = reports_columns(j);

	if (j->selection->with_lines)
		columns |= 1 << REPORT_LINE;
	return print_flat(j, columns | session_column(j), false, e);
}

int reports_waits(struct job *j, struct err *e)
{
	const struct profile_facts *f = job_input(j)->facts;
	unsigned columns = j->selection->columns;

	if (!columns)
		columns = 1 << REPORT_PID | 1 << REPORT_TID | 1 << REPORT_THREAD | 1 << REPORT_COMM;
	columns |= 1 << REPORT_STATE | 1 << REPORT_REASON;
	if (!j->selection->columns && ARRAY_ANY(x, f->events, f->nr_events, report_has_waker(x)))
		columns |= 1 << REPORT_WAKER | 1 << REPORT_WAKER_FUNCTION;
	return print_flat(j, columns | session_column(j), true, e);
}

int reports_threads(struct job *j, struct err *e)
{
	unsigned columns = 1 << REPORT_PID | 1 << REPORT_TID | 1 << REPORT_THREAD |
			   1 << REPORT_COMM | j->selection->columns;

	return print_flat(j, columns | session_column(j), false, e);
}
