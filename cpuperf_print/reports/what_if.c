/*
 * The report what-if: by how much a program would end earlier if a function were faster, by a
 * replay of what ended what (causal/graph.h).
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opt_std.h"
#include "base/order.h"
#include "base/str.h"
#include "causal/graph.h"
#include "numbers.h"
#include "profile/records.h"
#include "report/functions.h"
#include "report/stacks.h"
#include "report/states.h"
#include "report/waker.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 10, CANDIDATES = 200, LINE_BYTES = 1024, USUAL_PERCENT = 25 };

struct function {
	const struct report_function *is;
	uint64_t ns; /* on a CPU, in itself */
};

/* A row: a function, or the functions of an option. */
struct row {
	const struct report_function *is; /* NULL: those that match */
	const char *glob;                 /* of options */
	double share;                     /* of its time that is cut */
	uint64_t own_ns;
	double own, all; /* ns by which the program ends earlier; own is NAN for options */
};

struct report {
	struct job *j;
	struct report_stacks *stacks; /* owned */
	struct report_stats stats;
	struct causal_graph *graph; /* owned */
	struct trace_target target;
	uint64_t ran_ns, nr_ran;
	struct function *functions; /* owned; by number of the function; those on CPUs */
	size_t nr_functions, functions_room;
	double *cut;      /* owned; by stack */
	struct row *rows; /* owned */
	size_t nr, room;
};

/* ---- what happened */

/* What a thread waited for that another one woke, by the functions in both stacks. */
static enum causal_kind kind_of_wake(const struct report *r, uint32_t stack)
{
	static const char *const barriers[] = {"pthread_barrier_wait",   "gomp_barrier_wait",
					       "gomp_team_barrier_wait", "__kmp_barrier",
					       "__kmpc_barrier",         "MPI_Barrier"};
	static const char *const joins[] = {"pthread_join", "__pthread_clockjoin",
					    "__pthread_timedjoin", "do_wait"};
	const struct report_stack_node *n;
	unsigned sides = 0, side = 1; /* the waker's frames come first */

	for (; stack != REPORT_NO_STACK; stack = n->parent) {
		const char *name;

		n = report_stacks_at(r->stacks, stack);
		name = n->frame.function->name;
		if (report_waker_frames(&n->frame, 1))
			side = 2;
		else if (side == 2 && str_begins_with_any(name, joins, ARRAY_NR(joins)))
			return CAUSAL_JOINED;
		else if (str_begins_with_any(name, barriers, ARRAY_NR(barriers)))
			sides |= side;
	}
	return sides == 3 ? CAUSAL_MET : CAUSAL_WOKEN;
}

static enum causal_kind kind_of(const struct report *r, const struct report_sample *s,
				enum report_state state)
{
	if (state == REPORT_ON_CPU)
		return CAUSAL_RAN;
	if (state == REPORT_IN_QUEUE)
		return CAUSAL_QUEUED;
	if (!s->has_waker)
		return CAUSAL_UNKNOWN;
	if (s->waker == TRACE_UNKNOWN)
		return CAUSAL_LATER;
	return kind_of_wake(r, s->stack);
}

static struct function *function_at(struct report *r, uint32_t stack)
{
	const struct report_function *f = report_stacks_at(r->stacks, stack)->frame.function;
	struct function *list =
	    mem_grow(r->functions, f->number, &r->functions_room, sizeof(*list));

	if (!list)
		return NULL;
	r->functions = list;
	for (; r->nr_functions <= f->number; r->nr_functions++)
		list[r->nr_functions] = (struct function){0};
	list[f->number].is = f;
	return &list[f->number];
}

static int add_sample(struct report *r, const struct report_sample *s, enum report_state state)
{
	const struct causal_event ev = {.time_ns = s->time_ns,
					.ns = s->weight,
					.thread = s->key.tid,
					.other = s->waker,
					.mark = s->stack,
					.kind = kind_of(r, s, state)};
	struct function *f;

	if (ev.kind == CAUSAL_RAN) {
		f = function_at(r, s->stack);
		if (!f)
			return -ENOMEM;
		f->ns += s->weight;
		r->ran_ns += s->weight;
		r->nr_ran += s->samples;
	}
	return causal_add(r->graph, &ev);
}

static int add_samples(void *arg, const struct report_sample *samples, size_t nr)
{
	struct report *r = arg;
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++) {
		const enum report_state state = report_states_of(
		    job_input(r->j)->facts, &r->j->selection->filter, samples[i].key.event);

		if (state != REPORT_NO_STATE)
			rc = add_sample(r, &samples[i], state);
	}
	return rc;
}

static int add_record(struct report *r, const struct profile_item *item)
{
	const struct trace_record *rec = &item->record;
	const bool is_end = rec->kind == PERF_RECORD_EXIT;

	if (item->kind != PROFILE_RECORD || (rec->kind != PERF_RECORD_FORK && !is_end) ||
	    item->cpu == TRACE_UNKNOWN) /* surveyed: it began before */
		return 0;
	return causal_add(r->graph,
			  &(struct causal_event){.time_ns = item->time_ns,
						 .thread = rec->tid,
						 .other = rec->ptid,
						 .kind = is_end ? CAUSAL_ENDED : CAUSAL_MADE});
}

/* Beginnings and ends of threads and processes, from the records of the kernel. */
static int read_records(struct report *r)
{
	struct profile_records *records;
	struct profile_item item;
	int rc = profile_session_common(job_input(r->j)->session, false, &records);

	if (rc != 1)
		return rc;
	while ((rc = profile_records_next(records, &item)) == 1) {
		rc = add_record(r, &item);
		if (rc)
			break;
	}
	profile_records_close(records);
	return rc;
}

static int keep_target(void *arg, const struct profile_trace *t)
{
	struct report *r = arg;

	if (t->target)
		r->target = *t->target;
	return 0;
}

/* ---- what if */

static double run_ns(const struct report *r)
{
	return (double)(r->target.end_ns - r->target.start_ns);
}

static double saved(struct report *r, const struct causal_cut *cut)
{
	return causal_saved(r->graph, cut, r->target.pid);
}

static bool is_meant(const struct row *row, const struct report_function *f)
{
	return row->is ? f == row->is : fnmatch(row->glob, f->name, 0) == 0;
}

/* The program with so much of the row's time cut. has_callees: and of what it calls. */
static double saved_by(struct report *r, const struct row *row, bool has_callees)
{
	const size_t nr = report_stacks_nr(r->stacks);

	for (uint32_t i = 1; i < nr; i++) {
		const struct report_stack_node *n = report_stacks_at(r->stacks, i);

		r->cut[i] = is_meant(row, n->frame.function) ? row->share
			    : has_callees                    ? r->cut[n->parent]
							     : 0;
	}
	return saved(r, &(struct causal_cut){.ran = r->cut, .nr = nr});
}

static int by_own(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return order_u64(y->ns, x->ns) ?: x->ns ? report_function_compare(x->is, y->is) : 0;
}

static int by_saved(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return order_reals(&y->own, &x->own)
		   ?: order_reals(&y->all, &x->all) ?: report_function_compare(x->is, y->is);
}

static int add_row(struct report *r, const struct row *row)
{
	struct row *to = MEM_ADD(r->rows, r->nr, r->room);

	if (!to)
		return -ENOMEM;
	*to = *row;
	to->own = row->is ? saved_by(r, row, false) : NAN;
	to->all = saved_by(r, row, true);
	return 0;
}

/* Of the functions with most time. */
static int add_functions(struct report *r, double share)
{
	int rc = 0;

	order_sort(r->functions, r->nr_functions, sizeof(*r->functions), by_own);
	for (size_t i = 0; i < r->nr_functions && i < CANDIDATES && r->functions[i].ns && rc == 0;
	     i++)
		rc = add_row(r, &(struct row){.is = r->functions[i].is,
					      .share = share,
					      .own_ns = r->functions[i].ns});
	order_sort(r->rows, r->nr, sizeof(*r->rows), by_saved);
	return rc;
}

static int add_rows(struct report *r)
{
	const struct selection *s = r->j->selection;
	double share = USUAL_PERCENT / 100.0;
	int rc = 0;

	for (size_t i = 0; i < s->nr_speedups && rc == 0; i++) {
		if (s->speedup[i].glob)
			rc = add_row(r, &(struct row){.glob = s->speedup[i].glob,
						      .share = s->speedup[i].share});
		else
			share = s->speedup[i].share;
	}
	return rc ?: r->nr ? rc : add_functions(r, share);
}

/* ---- what is printed */

static struct grid *make_grid(const struct report *r)
{
	const struct grid_column columns[] = {
	    {"faster", NULL, "%", GRID_PERCENT, GRID_ALL, .leaves = 1},
	    {"own_time", "on CPU", "ns", GRID_AMOUNT, GRID_ALL, .leaves = 2},
	    {"saves", NULL, NULL, GRID_SHARE, GRID_ALL},
	    {"saves_ns", NULL, "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},
	    {"saves_with_callees", "with callees", NULL, GRID_SHARE, GRID_ALL},
	    {"saves_with_callees_ns", NULL, "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},
	    {"object", NULL, NULL, GRID_TEXT, GRID_ALL, .leaves = 3},
	    {"function", NULL, NULL, GRID_TEXT, GRID_ALL},
	};

	return reports_grid(r->j, columns, ARRAY_NR(columns));
}

/* Of the run. Chance is in how many samples of what was cut lie on the longest path. */
static void put_saved(const struct report *r, struct grid *g, double ns, double share)
{
	const double step_ns = (double)r->ran_ns / (double)(r->nr_ran ?: 1);
	const double all = run_ns(r) / step_ns, part = fmin(ns / share / step_ns, all);
	struct interval of;

	if (isnan(ns)) {
		grid_none(g);
		grid_none(g);
		return;
	}
	of = interval_count((uint64_t)(fmax(part, 0) + 0.5), (uint64_t)(all + 0.5));
	of.share *= share;
	of.low *= share;
	of.high *= share;
	grid_share(g, &of);
	grid_count(g, (uint64_t)(fmax(ns, 0) + 0.5));
}

static void put_row(const struct report *r, struct grid *g, const struct row *row)
{
	grid_row(g);
	grid_percent(g, row->share);
	row->is ? grid_count(g, row->own_ns) : grid_none(g);
	put_saved(r, g, row->own, row->share);
	put_saved(r, g, row->all, row->share);
	grid_text(g, row->is ? row->is->object : "");
	grid_text(g, row->is ? row->is->name : row->glob);
}

/* What the longest path consists of: by how much the end moves if a little of each is cut. */
static void put_path(struct report *r)
{
	enum { LITTLE = 1000 };
	const double little = 1.0 / LITTLE, all = run_ns(r) / LITTLE;
	const double ran = saved(r, &(struct causal_cut){.ran_all = little});
	const double queued = saved(r, &(struct causal_cut){.queued = little});
	const double later = saved(r, &(struct causal_cut){.later = little});
	BUF_AUTO(b, LINE_BYTES);

	buf_printf(&b,
		   "%s until %s ended. Longest path: %s %% on a CPU, %s %% waiting for one, %s %% "
		   "waiting for timers, devices and what was not measured, %s %% not explained.",
		   HUMAN(run_ns(r), "ns"), r->target.text, DECIMAL(100 * ran / all, 1),
		   DECIMAL(100 * queued / all, 1), DECIMAL(100 * later / all, 1),
		   DECIMAL(100 * fmax(0, 1 - (ran + queued + later) / all), 1));
	reports_headline(r->j, &b);
}

static int put_rows(struct report *r, struct err *e)
{
	const uint64_t top = r->j->selection->nr_speedups ? UINT64_MAX : reports_top(r->j, TOP);
	struct grid *g = make_grid(r);

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	if (r->j->output->form == GRID_PEOPLE)
		put_path(r);
	for (size_t i = 0; i < r->nr && i < top; i++)
		put_row(r, g, &r->rows[i]);
	return reports_end(r->j, g, 0, e);
}

/* ---- */

static int check(const struct report *r, struct err *e)
{
	const struct profile_facts *f = job_input(r->j)->facts;

	if (reports_is_part(&r->j->selection->filter) || r->j->selection->filter.iterations.nr) {
		err_set(e, -EINVAL, "--report=what-if needs all samples");
		err_hint(e, "leave out what selects some: --pid, --comm, --cpu, --from …");
		return -EINVAL;
	}

	if (!ARRAY_ANY(ev, f->events, f->nr_events, report_has_waker(ev))) {
		err_set(e, -ENODATA, "--report=what-if: the session does not have who ended waits");
		err_hint(e, "as root: cpuperf --spec-file=wall -- PROGRAM");
		return -ENODATA;
	}
	if (!r->target.pid || r->target.end_ns <= r->target.start_ns) {
		err_set(e, -ENODATA, "--report=what-if: no command ended in this session");
		err_hint(e, "as root: cpuperf --spec-file=wall -- PROGRAM");
		return -ENODATA;
	}
	return 0;
}

static int read_all(struct report *r, struct err *e)
{
	const struct report_sink sink = {.parts = REPORT_BY_PID | REPORT_BY_TID | REPORT_BY_STACK |
						  REPORT_BY_WAKER,
					 .samples = add_samples,
					 .stacks = r->stacks,
					 .arg = r};
	int rc = reports_each_trace(r->j, job_input(r->j), keep_target, r) ?:
		 check(r, e) ?:
		 samples_read(r->j, r->j->first, 1, &sink, &r->stats, e);

	if (rc)
		return rc;
	rc = read_records(r) ?: causal_order(r->graph);
	r->cut = rc ? NULL : mem_calloc(report_stacks_nr(r->stacks), sizeof(*r->cut));
	rc = rc ?: r->cut ? add_rows(r) : -ENOMEM;
	return rc == -EFBIG
		   ? err_set(e, rc, "--report=what-if: more than %d samples", CAUSAL_MAX_EVENTS)
	       : rc ? err_set(e, rc, "--report=what-if: %s", strerror(-rc))
		    : 0;
}

int reports_what_if(struct job *j, struct err *e)
{
	struct report r = {.j = j, .stacks = report_stacks_new(), .graph = causal_new()};
	int rc = r.stacks && r.graph ? 0 : err_set(e, -ENOMEM, "out of memory");

	rc = rc ?: read_all(&r, e) ?: put_rows(&r, e);
	report_stacks_free(r.stacks);
	causal_free(r.graph);
	report_stats_fini(&r.stats);
	mem_free(r.functions);
	mem_free(r.cut);
	mem_free(r.rows);
	return rc;
}
