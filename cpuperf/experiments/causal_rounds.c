/*
 * Rounds within the runs of a command, for programs that run for ever, or for long: what is tried
 * changes in the memory that the agent reads, while the program runs.
 *
 * First the program runs until the point has been visited, and for half a second more, in which the
 * candidates are chosen that run most. A round begins some time after the change: until then
 * threads pay what they owe of the round before, and queues fill or empty, so what is owed at both
 * ends of a round is about the same. A program that ends is started again while there is time; a
 * process that ran already is only looked at, and never ended.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/root.h"
#include "causal/rounds.h"
#include "experiments/causal_core.h"
#include "options.h"
#include "proc/list.h"
#include "proc/proc.h"
#include "proc/text.h"
#include "wire/wire.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MAX_ROWS = 2 * CAUSAL_MAX_FUNCTIONS * CAUSAL_MAX_SPEEDUPS,
	MAX_TASKS = 1 << 14,
	MAX_DEPTH = 16,
	MAX_EMPTY_RUNS = 3,
	ENOUGH_VISITS = 5,
};
static const uint64_t look_ns = 20000000, survey_ns = 500000000, settle_ns = 20000000,
		      patience_ns = 5000000000, agent_ns = 3000000000;
/* Of a round, before it begins. */
#define SETTLE 0.1

/* Differences of the blocks, of a row. */
struct series {
	double *value; /* owned */
	size_t nr, room;
};

struct rounds {
	struct causal *c;
	struct series series[MAX_ROWS];
	size_t nr_arms;           /* that are tried */
	size_t number;            /* of blocks */
	size_t nr_empty;          /* runs, one after the other, without a block */
	bool has_latency;         /* what is under way is met often enough, if it is looked at */
	double length_s;          /* of a round */
	double latency_s;         /* without a delay, as far as is known; 0: of no region */
	uint64_t over_ns;         /* when time is over */
	double visits, virtual_s; /* of all rounds without a delay that were used */
	double timed_s, nr_timed;
};

/* What has been counted at a moment. */
struct look {
	uint64_t at_ns, all_ns, sampled_ns, queued_ns;
	struct causal_visits visits;
};

/* --- the run */

static bool is_attached(const struct causal *c)
{
	return c->attached.pid;
}

/* --- how long threads have waited for a CPU */

struct tasks {
	uint64_t delay_ns;
	size_t nr;
	uint32_t pid, depth;
};

static int add_process(uint32_t pid, void *arg);

static int add_thread(uint32_t tid, void *arg)
{
	struct tasks *t = arg;
	const struct proc thread = {.root = &root_live, .pid = t->pid, .tid = tid};
	struct proc_schedstat s;

	if (++t->nr > MAX_TASKS)
		return 1;
	if (proc_schedstat_load(&thread, &s) == 0)
		t->delay_ns += s.delay_ns;
	return proc_each_child(&thread, add_process, t) > 0;
}

static int add_process(uint32_t pid, void *arg)
{
	struct tasks *t = arg;
	const uint32_t before = t->pid;
	int rc = 0;

	if (t->depth == MAX_DEPTH)
		return 0;
	t->depth++;
	t->pid = pid;
	rc = proc_each_thread(PROC(&root_live, pid), add_thread, t);
	t->pid = before;
	t->depth--;
	return rc > 0;
}

static void take_look(struct rounds *r, struct look *out)
{
	struct causal *c = r->c;
	const struct causal_memory *m = c->shared.at;
	struct tasks tasks = {.nr = 0};

	out->all_ns = __atomic_load_n(&m->all_ns, __ATOMIC_RELAXED);
	out->at_ns = causal_point_read(c->point, &c->shared, &out->visits);
	out->sampled_ns = __atomic_load_n(&m->sampled_ns, __ATOMIC_RELAXED);
	(void)add_process((uint32_t)causal_pid(c), &tasks);
	out->queued_ns = tasks.delay_ns + __atomic_load_n(&m->queued_ns, __ATOMIC_RELAXED);
}

/* --- rounds */

static bool is_time_over(const struct rounds *r)
{
	return turns_caught() || clock_monotonic_ns() >= r->over_ns;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

/* Meanwhile looks at what is under way. False: the program has ended, or the time is over before.
 */
static bool wait_for(struct rounds *r, uint64_t ns)
{
	const uint64_t until_ns = clock_monotonic_ns() + ns,
		       last_ns = earlier(until_ns, r->over_ns);

	while (clock_monotonic_ns() < until_ns) {
		const uint64_t next_ns = causal_point_look(r->c->point, &r->c->shared);

		if (is_time_over(r) || causal_has_ended(r->c, earlier(next_ns, last_ns)))
			return false;
	}
	return true;
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

/* In virtual time: less what was paid within, or, of what was only looked at, as if delays lay
 * evenly within all that goes on. NAN: it is not known. */
static double latency_of(const struct causal_visits *a, const struct causal_visits *b,
			 double real_s, double delayed_s)
{
	const double nr = b->nr_timed - a->nr_timed, paid_s = seconds(a->paid_ns, b->paid_ns),
		     timed_s = seconds(a->timed_ns, b->timed_ns);

	if (!(nr > 0) || !(real_s > 0))
		return NAN;
	return b->looks ? timed_s * (1 - delayed_s / real_s) / nr : (timed_s - paid_s) / nr;
}

static uint64_t virtual_ns(const struct rounds *r)
{
	return clock_monotonic_ns() - __atomic_load_n(&r->c->shared.at->all_ns, __ATOMIC_RELAXED);
}

/* What ends in a round began in it, or as it is: else the latency of one round has what was paid in
 * another, and is less what is paid within those that have not ended. False: as wait_for. */
static bool settle(struct rounds *r, bool *is_settled)
{
	const uint64_t least_ns = (uint64_t)(SETTLE * r->length_s * 1e9), from_ns = virtual_ns(r),
		       most_ns = clock_monotonic_ns() + (uint64_t)(CAUSAL_ROUND_MAX_S * 1e9);

	if (!wait_for(r, least_ns > settle_ns ? least_ns : settle_ns))
		return false;
	while (!(*is_settled =
		     causal_round_is_settled(r->latency_s, seconds(from_ns, virtual_ns(r)))) &&
	       clock_monotonic_ns() < most_ns)
		if (!wait_for(r, settle_ns))
			return false;
	return true;
}

static void compare_looks(const struct look *a, const struct look *b, bool has_latency,
			  struct causal_round *out)
{
	const bool is_late = has_latency && causal_flow_is_late(b->visits.looks - a->visits.looks,
								b->visits.late - a->visits.late);
	const double real_s = seconds(a->at_ns, b->at_ns),
		     delayed_s = seconds(a->all_ns, b->all_ns);

	*out = (struct causal_round){
	    .middle_s = ((double)a->at_ns + (double)b->at_ns) / 2e9,
	    .real_s = real_s,
	    .delayed_s = delayed_s,
	    .visits = b->visits.nr > a->visits.nr ? (double)(b->visits.nr - a->visits.nr) : 0,
	    .latency_s = has_latency && !is_late
			     ? latency_of(&a->visits, &b->visits, real_s, delayed_s)
			     : NAN,
	    .is_late = is_late};
	out->is_used =
	    b->visits.lost == a->visits.lost &&
	    !causal_round_is_disturbed(out->real_s, seconds(a->sampled_ns, b->sampled_ns),
				       seconds(a->queued_ns, b->queued_ns));
}

/* False: the program has ended, or the time is over. */
static bool run_round(struct rounds *r, size_t arm, struct causal_round *out)
{
	const uint64_t ns = (uint64_t)(r->length_s * 1e9);
	struct look begin, end;
	bool is_settled;

	causal_try(r->c, arm);
	if (!settle(r, &is_settled))
		return false;
	take_look(r, &begin);
	if (!wait_for(r, ns))
		return false;
	take_look(r, &end);
	compare_looks(&begin, &end, r->has_latency && is_settled, out);
	return true;
}

static void add_base(struct rounds *r, const struct causal_round *round)
{
	if (!round->is_used)
		return;
	r->visits += round->visits;
	r->virtual_s += round->real_s - round->delayed_s;
	if (isnan(round->latency_s))
		return;
	r->timed_s += round->latency_s * round->visits;
	r->nr_timed += round->visits;
}

static int add_difference(struct series *s, double value)
{
	double *place = MEM_ADD(s->value, s->nr, s->room);

	if (!place)
		return -ENOMEM;
	*place = value;
	return 0;
}

static int add_block(struct rounds *r, const struct causal_block *b)
{
	struct causal_result *result = &r->c->result;
	bool has_latency = false;
	double value;
	int rc = 0;

	for (size_t i = 0; i < b->nr; i++) {
		result->nr_used += b->round[i].is_used;
		result->nr_unused += !b->round[i].is_used;
		result->nr_late += b->round[i].is_used && b->round[i].is_late;
		if (!b->arm[i])
			add_base(r, &b->round[i]);
	}
	for (size_t arm = 1; arm <= r->nr_arms && rc == 0; arm++) {
		if (causal_block_compare(b, arm, CAUSAL_THROUGHPUT, &value))
			rc = add_difference(&r->series[arm - 1], value);
		if (rc == 0 && causal_block_compare(b, arm, CAUSAL_LATENCY, &value)) {
			rc = add_difference(&r->series[r->nr_arms + arm - 1], value);
			has_latency = true;
		}
	}
	for (size_t i = 0; has_latency && result->nr == r->nr_arms && i < r->nr_arms; i++) {
		result->row[r->nr_arms + i] = result->row[i];
		result->row[r->nr_arms + i].of = CAUSAL_OF_LATENCY;
	}
	if (has_latency)
		result->nr = 2 * r->nr_arms;
	r->number++;
	r->length_s =
	    fmax(r->length_s, causal_round_length(b->round[0].visits, b->round[0].real_s));
	if (b->round[0].latency_s > 0)
		r->latency_s = b->round[0].latency_s;
	return rc;
}

static bool run_block(struct rounds *r, int *rc)
{
	struct causal_block b;

	causal_block_plan(&b, r->number, r->nr_arms);
	for (size_t i = 0; i < b.nr; i++)
		if (!run_round(r, b.arm[i], &b.round[i]))
			return false;
	*rc = add_block(r, &b);
	return *rc == 0;
}

/* --- what is known */

/* So many blocks that each arm was in that many, whether they were used or not. */
static bool is_number_reached(const struct rounds *r)
{
	const size_t nr = r->c->result.rule.nr_pairs, tried = CAUSAL_BLOCK_TRIED;

	return r->number * (r->nr_arms < tried ? r->nr_arms : tried) >= nr * r->nr_arms;
}

static int look_at_rows(struct rounds *r)
{
	struct causal *c = r->c;
	struct causal_result *result = &c->result;
	bool is_known = result->nr > 0;

	for (size_t i = 0; i < result->nr; i++) {
		const struct series *s = &r->series[i];
		struct causal_row *row = &result->row[i];

		if (s->nr && paired_interval_of(s->value, s->nr, 0, result->rule.nr_pairs,
						CAUSAL_ERROR / (double)result->nr, &row->saved))
			return -ENOMEM;
		is_known = is_known && causal_is_row_known(result, row);
	}
	result->is_known = result->rule.nr_pairs ? is_number_reached(r) : is_known;
	result->nr_rounds = r->number;
	result->rate = r->virtual_s > 0 ? r->visits / r->virtual_s : 0;
	result->latency = r->nr_timed > 0 ? r->timed_s / r->nr_timed : 0;
	c->turns.seconds = result->seconds = seconds(c->turns.begin_ns, clock_monotonic_ns());
	return 0;
}

static void add_run(struct causal *c)
{
	const struct causal_memory *m = c->shared.at;

	c->sampled_ns += m->sampled_ns;
	if (m->nr_unsampled > c->result.nr_unsampled)
		c->result.nr_unsampled = m->nr_unsampled;
	causal_set_shares(c);
}

static void put_status(const struct turns *t, const void *arg, struct buf *out)
{
	const struct rounds *r = arg;
	const struct causal_result *result = &r->c->result;
	double most = 0;

	for (size_t i = 0; i < result->nr; i++)
		most = fmax(most, result->row[i].saved.nr ? causal_half(&result->row[i].saved)
							  : INFINITY);
	if (!r->c->nr_chosen)
		buf_printf(out, "waiting for %s", result->point);
	else
		buf_printf(out, "%zu rounds in %.0f s", result->nr_used, t->seconds);
	if (result->nr_used && isfinite(most))
		buf_printf(out, ": known within %.2g %%", 100 * most);
	if (result->nr_unused)
		buf_printf(out, " (%zu not used)", result->nr_unused);
}

/* --- a run of the command */

/* Waits until the point has been visited. False: the program has ended, or never. */
static bool wait_for_point(struct rounds *r, struct look *out)
{
	const uint64_t begin_ns = clock_monotonic_ns();
	bool goes_on = true;

	for (;;) {
		take_look(
		    r, out); /* also when it has ended: it may have passed it since the last one */
		if (out->visits.nr)
			return true;
		if (!goes_on || (!r->c->shared.at->first_pid && out->at_ns > begin_ns + agent_ns))
			return false;
		goes_on = wait_for(r, look_ns);
	}
}

static int refuse_point(const struct rounds *r, bool has_ended, struct err *e)
{
	struct causal *c = r->c;

	if (turns_caught() || causal_check_agent(c, e))
		return e->code;
	if (has_ended)
		err_set_at(e, -ENODATA, c->subject, 0, 0, "it ended before it was seen to pass %s",
			   c->result.point);
	else
		err_set_at(e, -ENODATA, c->subject, 0, 0, "it did not pass %s within %.3g s",
			   c->result.point, seconds(c->turns.begin_ns, clock_monotonic_ns()));
	causal_hint_points(c, e);
	return e->code;
}

/* Of what ran since the point was first passed. */
static int choose(struct rounds *r, const uint64_t *before_ns, struct err *e)
{
	struct causal *c = r->c;
	int rc;

	causal_look_at_times(c);
	for (size_t i = 0; i < c->candidates.nr; i++)
		c->candidates.list[i].ns -=
		    before_ns[i] <= c->candidates.list[i].ns ? before_ns[i] : 0;
	rc = causal_check_agent(c, e) ?: causal_choose(c, e);
	r->nr_arms = c->result.nr;
	return rc;
}

/* Where latencies are by looks, one also has to be met as often as the point is passed. */
static void set_length(struct rounds *r, const struct look *first, const struct look *last)
{
	const uint64_t looks = last->visits.looks - first->visits.looks,
		       met = last->visits.met - first->visits.met;
	double visits = (double)(last->visits.nr - first->visits.nr);

	r->has_latency = causal_flow_is_met(looks, met);
	r->c->result.is_by_looks = looks > 0;
	if (looks && r->has_latency)
		visits = fmin(visits, (double)met);
	r->length_s = causal_round_length(visits, seconds(first->at_ns, last->at_ns));
	r->latency_s = r->has_latency ? fmax(latency_of(&first->visits, &last->visits,
							seconds(first->at_ns, last->at_ns), 0),
					     0)
				      : 0;
}

/* Chooses what is tried. */
static int survey(struct rounds *r, struct err *e)
{
	struct causal *c = r->c;
	struct look first, last;
	MEM_AUTO uint64_t *before_ns = mem_calloc(c->candidates.nr, sizeof(*before_ns));

	if (!before_ns)
		return err_set(e, -ENOMEM, "out of memory");
	if (!wait_for_point(r, &first))
		return refuse_point(r, !is_time_over(r), e);
	causal_look_at_times(c);
	for (size_t i = 0; i < c->candidates.nr; i++)
		before_ns[i] = c->candidates.list[i].ns;
	do {
		bool goes_on = wait_for(r, survey_ns);

		take_look(r, &last);
		if (!goes_on) { /* it may have ended before the first look */
			memset(before_ns, 0, c->candidates.nr * sizeof(*before_ns));
			break;
		}
	} while (last.visits.nr < first.visits.nr + ENOUGH_VISITS);
	set_length(r, &first, &last);
	return turns_caught() ? 0 : choose(r, before_ns, e);
}

/* Ends the command, if it has not ended; a process goes on as before. */
static int end_run(struct rounds *r, struct err *e)
{
	struct versus_runner *runner = r->c->turns.runner;
	const uint64_t until_ns = clock_monotonic_ns() + patience_ns;
	struct versus_run run;
	bool is_ours;

	causal_try(r->c, 0);
	if (is_attached(r->c)) {
		causal_shared_end(&r->c->shared);
		causal_attached_end(&r->c->attached);
		return 0;
	}
	is_ours = !versus_runner_has_ended(runner, 0);
	if (is_ours)
		versus_runner_stop(runner, SIGTERM);
	while (!versus_runner_has_ended(runner, until_ns) && clock_monotonic_ns() < until_ns)
		;
	if (!versus_runner_has_ended(runner, 0))
		versus_runner_stop(runner, SIGKILL);
	versus_runner_end(runner, &run);
	if (is_ours || turns_caught() || run.status == 0 || r->c->o->versus.ignores_status)
		return 0;
	err_clear(e); /* what else failed, did so because of that */
	err_set_at(e, -EIO, r->c->subject, 0, 0, "%s %d",
		   WIFSIGNALED(run.status) ? "was ended by signal" : "ended with exit status",
		   WIFSIGNALED(run.status) ? WTERMSIG(run.status) : WEXITSTATUS(run.status));
	err_hint(e, "what fails is not measured; if this is meant, use --ignore-status");
	return e->code;
}

static bool is_enough(const struct rounds *r)
{
	return is_time_over(r) || r->c->result.is_known;
}

static int begin_run(struct rounds *r, struct err *e)
{
	struct causal *c = r->c;
	int rc = is_attached(c)
		     ? causal_attached_begin(&c->attached, wire_number(c->wire), e)
		     : versus_runner_begin(c->turns.runner, c->arm[0].argv, VERSUS_OURS, e);

	if (rc)
		return rc;
	c->result.nr_runs++;
	causal_point_begin_run(c->point, causal_pid(c));
	for (size_t i = 1; i < c->attached.nr_in; i++)
		causal_point_begin_run(c->point, c->attached.in[i]);
	return 0;
}

static int refuse_short(const struct rounds *r, struct err *e)
{
	const bool is_gone = is_attached(r->c);

	err_set_at(e, -ENODATA, r->c->subject, 0, 0, "it %s before some rounds of %.1f s are done",
		   is_gone ? "ended" : "ends", r->length_s);
	err_hint(e, is_gone ? "measure one that runs for longer"
			    : "let it do more, or measure whole runs: omit --progress");
	return e->code;
}

static int run_once(struct rounds *r, struct err *e)
{
	struct causal *c = r->c;
	const size_t before = r->number;
	int rc = turns_prepare(&c->turns, e);

	if (rc || turns_caught())
		return rc;
	causal_shared_reset(&c->shared);
	rc = begin_run(r, e);
	if (rc)
		return rc;
	turns_show(&c->turns);
	rc = c->nr_chosen ? 0 : survey(r, e);
	while (rc == 0 && !is_enough(r) && run_block(r, &rc)) {
		rc = look_at_rows(r);
		turns_show(&c->turns);
	}
	if (rc && !e->code)
		err_set(e, rc, "out of memory");
	add_run(c);
	rc = end_run(r, e) ?: rc;
	r->nr_empty = r->number == before ? r->nr_empty + 1 : 0;
	if (rc || is_enough(r) || r->nr_empty < (is_attached(c) ? 1 : MAX_EMPTY_RUNS))
		return rc;
	return refuse_short(r, e);
}

/* Nothing that could be said. */
static int refuse_all(const struct rounds *r, struct err *e)
{
	const struct causal_result *result = &r->c->result;

	if (e->code || turns_caught() || ARRAY_ANY(x, result->row, result->nr, x->saved.nr))
		return e->code;
	if (!result->nr_unused) {
		err_set_at(e, -ENODATA, r->c->subject, 0, 0,
			   "the time was over before each was tried, in rounds of %.1f s",
			   r->length_s);
		err_hint(e, "allow more: -d TIME, or name fewer functions");
		return e->code;
	}
	err_set_at(
	    e, -ENODATA, r->c->subject, 0, 0,
	    "in %zu of %zu rounds threads waited for a CPU for more than %.0f %% of the time: "
	    "nothing could be compared",
	    result->nr_unused, result->nr_used + result->nr_unused, 100 * CAUSAL_QUEUED);
	err_hint(e, "experiments need free CPUs");
	return e->code;
}

int causal_rounds_run(struct causal *c, struct err *e)
{
	MEM_AUTO struct rounds *r = mem_zalloc(sizeof(*r));
	int rc;

	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	r->c = c;
	c->turns.put_status = put_status;
	c->turns.arg = r;
	rc = turns_set_up(&c->turns, e);
	c->turns.begin_ns = clock_monotonic_ns();
	r->over_ns = c->turns.rule.at_most_ns < UINT64_MAX - c->turns.begin_ns
			 ? c->turns.begin_ns + c->turns.rule.at_most_ns
			 : UINT64_MAX;
	do {
		rc = rc ?: run_once(r, e);
	} while (rc == 0 && !turns_caught() && !is_enough(r) && !is_attached(c));
	if (rc == 0)
		rc = look_at_rows(r) ?: refuse_all(r, e);
	if (turns_show_progress(&c->turns))
		dprintf(STDERR_FILENO, TURNS_ERASE);
	for (size_t i = 0; i < MAX_ROWS; i++)
		mem_free(r->series[i].value);
	c->turns.arg = c;
	return rc;
}
