/*
 * What is read is charged to a budget. Each look opens the session anew, since it has further
 * files; names stay, and get what is new of tasks and mappings.
 */
#include "live/follow.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "live/pace.h"
#include "profile/filter.h"
#include "profile/samples.h"
#include "report/functions.h"
#include "report/kept.h"
#include "report/sums.h"
#include "selection.h"
#include "symbol/symbols.h"
#include "trace/record.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Below the limit: what a step will cost is known only when it is done. */
#define PACE (0.9 * FOLLOW_BUDGET)

enum {
	NS_PER_MS = 1000000,
	NS_PER_S = 1000000000,
	LENT_NS = NS_PER_S / 2, /* what the first screen may cost: the kernel's symbols, programs */
	MOST_NS = NS_PER_S / 4, /* at once, later */
	LOOK_NS = NS_PER_S / 4, /* between two looks for iterations that have ended */
	MARGIN_NS = NS_PER_S,   /* a task may run for a while after the record of its end */
	FIRST_NS = NS_PER_S / 20,      /* the same until there is one */
	FIRST_COST_NS = NS_PER_S / 16, /* of the first iteration, of what is lent */
	MAX_AT_ONCE = 4,               /* iterations, so that keys are answered */
	RECENT_S = 5,                  /* the last seconds */
};

/* What may be used now; below 0 it has used too much. */
static int64_t credit_ns(struct follow *f)
{
	const uint64_t children_ns = clock_children_cpu_ns();

	budget_charge(&f->budget, children_ns - f->children_ns);
	f->children_ns = children_ns;
	return budget_update(&f->budget, clock_monotonic_ns(), clock_process_cpu_ns());
}

static void measure_own(struct follow *f)
{
	enum { NR = sizeof(f->shares_ns) / sizeof(f->shares_ns[0]) };
	const uint64_t now_ns = clock_monotonic_ns();
	const uint64_t now_used_ns = clock_process_cpu_ns() + clock_children_cpu_ns();
	const size_t last = (f->nr_shares + NR - 1) % NR;
	size_t first = f->nr_shares < NR ? 0 : f->nr_shares % NR;

	if (f->nr_shares && now_ns - f->shares_ns[last] < NS_PER_S)
		return;
	if (f->nr_shares)
		f->own_share = (double)(now_used_ns - f->used_ns[first]) /
			       (double)(now_ns - f->shares_ns[first]);
	f->shares_ns[f->nr_shares % NR] = now_ns;
	f->used_ns[f->nr_shares % NR] = now_used_ns;
	f->nr_shares++;
}

/* Filters and calls need the stacks; what is shown most does not. */
static int add_entry(void *arg, const struct report_entry *e)
{
	struct follow *f = arg;
	const struct report_sink *const sinks[] = {report_kept_sink(f->kept),
						   report_sums_sink(f->by_function),
						   report_sums_sink(f->by_thread)};

	return ARRAY_RUN(i, ARRAY_NR(sinks), sinks[i]->entry(sinks[i]->arg, e));
}

int follow_init(struct follow *f, struct inputs *in, const struct selection *s, struct err *e)
{
	int rc;

	*f = (struct follow){.in = in, .selection = s, .children_ns = clock_children_cpu_ns()};
	budget_init(&f->budget, PACE, LENT_NS, MOST_NS, clock_monotonic_ns(),
		    clock_process_cpu_ns());
	in->is_in_turn = true; /* looks load names */
	rc = inputs_load_names(in, &s->rules, e);
	if (rc)
		return rc;
	f->kept = report_kept_new(in->functions, REPORT_KEPT_USUAL);
	f->by_function = report_sums_new(in->functions, 1 << REPORT_FUNCTION, true);
	f->by_thread = report_sums_new(in->functions,
				       1 << REPORT_PID | 1 << REPORT_TID | 1 << REPORT_COMM, false);
	if (!f->kept || !f->by_function || !f->by_thread)
		return err_set(e, -ENOMEM, "out of memory");
	f->sink = (struct report_sink){.parts = report_kept_sink(f->kept)->parts,
				       .takes_maxima = true,
				       .entry = add_entry,
				       .arg = f};
	return 0;
}

void follow_fini(struct follow *f)
{
	report_stats_fini(&f->stats);
	report_kept_free(f->kept);
	report_sums_free(f->by_function);
	report_sums_free(f->by_thread);
}

static void ignore(void *arg, bool is_loss, const struct err *problem)
{
	(void)arg;
	(void)is_loss;
	(void)problem;
}

/* Of the oldest that wait, the newest first. */
static uint64_t needed_ns(const struct follow *f)
{
	const struct backlog *b = &f->backlog;
	const uint64_t begun_ns = b->nr_waiting ? b->waiting[0].begun_ns : f->smaller_ns;

	return begun_ns > MARGIN_NS ? begun_ns - MARGIN_NS : 0;
}

/* How many iterations are the last seconds. */
static uint32_t nr_recent(const struct follow *f)
{
	const double span_s = f->span_s > 0 ? f->span_s : 1;
	const uint32_t nr = span_s < RECENT_S ? (uint32_t)ceil(RECENT_S / span_s) : 1;

	return nr < BACKLOG_LAST ? nr : BACKLOG_LAST - 1;
}

static int read_range(struct follow *f, uint32_t first, uint32_t end, struct err *e)
{
	static struct profile_filter filter; /* too large for a stack */
	struct input *o = &f->in->item[0];
	const struct report_run run = {.filter = &filter,
				       .functions = f->in->functions,
				       .sink = &f->sink,
				       .nr_threads = 1,
				       .without_idle = true, /* no function that is run */
				       .every = f->every,
				       .problem = ignore};
	struct report_input input;
	int rc;

	if (!f->stats.event && report_stats_init(&f->stats, o->facts->nr_events))
		return err_set(e, -ENOMEM, "out of memory");
	memset(&filter, 0, sizeof(filter));
	filter.iterations.item[0].first = first;
	filter.iterations.item[0].last = end - 1;
	filter.iterations.nr = 1;
	input = (struct report_input){.session = o->session,
				      .processes = o->processes,
				      .symbols = o->symbols,
				      .finder = f->in->finder,
				      .vdso = o->vdso,
				      .has_own_clocks = true,
				      .start_ns = o->start_ns};
	rc = report_engine_read(&run, &input, &f->stats);
	return rc ? err_set(e, rc, "samples cannot be read: %s", strerror(-rc)) : 0;
}

/* The last iteration of a session in progress is being recorded. */
static uint32_t nr_ended(const struct profile_facts *facts)
{
	const uint64_t nr = facts->nr_iterations;

	return (uint32_t)(facts->is_in_progress && nr ? nr - 1 : nr);
}

uint32_t follow_recent_from(const struct follow *f)
{
	return backlog_recent_from(&f->backlog, nr_recent(f));
}

/* Those from the end so far on began after the last look that found no more to have ended. Of a
 * session that has ended, nothing is read at the expense of anything newer. */
static void add_ended(struct follow *f, uint32_t end, uint32_t nr_removed)
{
	struct backlog *b = &f->backlog;

	if (!f->has_names)
		b->history = end;
	backlog_add(b, b->end > nr_removed ? b->end : nr_removed, end, f->smaller_ns);
	if (!f->is_over && end > nr_recent(f))
		backlog_drop(b, end - nr_recent(f));
}

/* Those of the kernel take the longest: they are loaded while the first iteration is recorded. */
static int load_names(struct follow *f, struct err *e)
{
	int rc = inputs_grow_names(f->in, needed_ns(f), e);

	if (rc == 0 && !f->has_names)
		(void)symbols_kernel(f->in->item[0].symbols, 0, 0);
	f->has_names = true;
	return rc;
}

/* 1: there are further iterations, or the session has ended. */
static int look(struct follow *f, struct err *e)
{
	const struct profile_facts *facts;
	const bool was_over = f->is_over;
	const uint64_t now_ns = clock_monotonic_ns(), before_ns = f->looked_ns;
	uint32_t end;
	int rc = inputs_reopen(f->in, e);

	f->looked_ns = now_ns;
	if (rc)
		return rc;
	facts = f->in->item[0].facts;
	if (facts->info && !f->span_s)
		f->span_s = (double)facts->info->duration_ns / NS_PER_S;
	f->is_over = !facts->is_in_progress;
	end = nr_ended(facts);
	if (facts->nr_events && end > f->backlog.end && !backlog_is_full(&f->backlog)) {
		add_ended(f, end, (uint32_t)facts->nr_removed);
		f->smaller_ns = before_ns;
		rc = load_names(f, e);
	} else if (facts->nr_events && !f->has_names) {
		rc = load_names(f, e);
	}
	if (rc)
		return rc;
	return f->backlog.nr_waiting || f->is_over != was_over;
}

static bool stands_for_others(const struct trace_event *ev)
{
	struct trace_layout l;

	return !ev->attr_bytes || !trace_layout_init(&l, ev->attr, ev->attr_bytes) ||
	       !(l.is_wait || l.is_heap || l.is_maximum || l.is_by_switches);
}

/* What ends a session need not be read within a time. */
static bool is_read_whole(const struct follow *f)
{
	const struct profile_facts *facts = f->in->item[0].facts;

	return f->is_over || !(f->span_s > 0) ||
	       ARRAY_ANY(ev, facts->events, facts->nr_events, !stands_for_others(ev));
}

/* Before the first one is read. */
static void set_pace(struct follow *f)
{
	const uint64_t bytes =
	    profile_session_iteration_bytes(f->in->item[0].session, f->backlog.end - 1);

	f->every = is_read_whole(f) ? 1 : pace_begin(bytes, FIRST_COST_NS);
	f->cost_ns = pace_guess_ns(bytes, f->every);
}

/* What may be used for an iteration: without what was used besides, of each that ended. */
static uint64_t allowed_ns(const struct follow *f, uint64_t before_ns)
{
	const uint64_t grows_ns = budget_grows_ns(&f->budget, (uint64_t)(f->span_s * NS_PER_S));
	const uint32_t nr = f->backlog.end - f->nr_ended;
	const uint64_t else_ns = (before_ns - f->read_ns) / (nr ? nr : 1);

	if (!f->read_ns) /* names are loaded once */
		return grows_ns;
	return else_ns < grows_ns / 4 * 3 ? grows_ns - else_ns : grows_ns / 4;
}

static uint64_t nr_taken(const struct follow *f)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < f->stats.nr_events; i++)
		nr += f->stats.event[i].sampled.n.samples;
	return nr;
}

static void adapt_pace(struct follow *f, uint64_t cost_ns, uint64_t may_ns, uint32_t nr)
{
	const uint64_t taken = nr_taken(f);

	f->every = is_read_whole(f)
		       ? 1
		       : pace_next(f->every, cost_ns, may_ns, (taken - f->nr_samples) / nr);
	f->nr_samples = taken;
}

/* The newest, as many as the credit allows: at least one. */
static int read_some(struct follow *f, struct err *e)
{
	const int64_t credit = credit_ns(f);
	const uint64_t before_ns = clock_process_cpu_ns(), may_ns = allowed_ns(f, before_ns);
	uint64_t cost_ns;
	uint32_t allowed, first, nr;
	int rc;

	if (!f->every)
		set_pace(f);
	if (is_read_whole(f))
		f->every = 1;
	allowed = f->is_over ? MAX_AT_ONCE : budget_steps(credit, f->cost_ns, MAX_AT_ONCE);
	nr = backlog_take(&f->backlog, allowed, &first);
	rc = read_range(f, first, first + nr, e);
	f->read_ns = clock_process_cpu_ns();
	f->nr_ended = f->backlog.end;
	f->cost_ns -= f->cost_ns / 8;
	cost_ns = (f->read_ns - before_ns) / nr;
	f->cost_ns = cost_ns > f->cost_ns ? cost_ns : f->cost_ns;
	adapt_pace(f, cost_ns, may_ns, nr);
	return rc ? rc : 1;
}

static uint64_t look_ns(const struct follow *f)
{
	return f->backlog.end ? LOOK_NS : FIRST_NS;
}

int follow_step(struct follow *f, struct err *e)
{
	int rc = 0;

	measure_own(f);
	if (!f->is_over && credit_ns(f) <= 0)
		return 0;
	if (!f->is_over && clock_monotonic_ns() - f->looked_ns >= look_ns(f))
		rc = look(f, e);
	if (rc < 0)
		return rc;
	return f->backlog.nr_waiting ? read_some(f, e) : rc;
}

int follow_wait_ms(struct follow *f)
{
	const int64_t credit = f->is_over ? 1 : credit_ns(f);

	if (f->backlog.nr_waiting && credit > 0)
		return 0;
	if (f->is_over)
		return NS_PER_S / NS_PER_MS;
	if (credit > 0)
		return (int)(look_ns(f) / NS_PER_MS);
	return (int)(budget_wait_ns(&f->budget) / NS_PER_MS) + 1;
}

double follow_behind_s(const struct follow *f)
{
	const uint64_t since_ns = f->looked_ns ? clock_monotonic_ns() - f->looked_ns : 0;
	const double late_s =
	    (double)since_ns / NS_PER_S - f->span_s; /* iterations not known yet */

	return backlog_nr_waiting(&f->backlog) * f->span_s +
	       (!f->is_over && late_s > 0 ? late_s : 0);
}
