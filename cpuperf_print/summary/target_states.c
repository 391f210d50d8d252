/*
 * How long the threads of a target were on a CPU, waited for one, and were blocked.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/str.h"
#include "numbers.h"
#include "profile/processes.h"
#include "summary/target.h"

#include <math.h>
#include <string.h>

bool summary_target_may_miss_tasks(const struct summary *s)
{
	return s->facts->nr_removed ||
	       (s->table->sampled &&
		ARRAY_ANY(r, s->table->row_sampling, s->table->nr_rows, r->held_to_ns));
}

static void put_share(struct summary *s, uint64_t ns, double of_ns, const char *what)
{
	if (ns)
		buf_printf(s->out, "%s %% %s, ", DECIMAL(100 * (double)ns / of_ns, 1), what);
}

static bool has_event(const struct summary *s, const char *name)
{
	return ARRAY_ANY(e, s->facts->events, s->facts->nr_events,
			 strcmp(e->group, "sched") == 0 && strcmp(e->name, name) == 0);
}

/* Of records of switches; NULL: there are none, or only one of both kinds of waits is measured. */
static const struct profile_waits *find_recorded(const struct summary *s)
{
	if (!has_event(s, "run_queue_time") || !has_event(s, "off_cpu_time"))
		return NULL;
	return profile_session_waits(s->j->inputs->item[s->j->first].session);
}

static double waited_ns(const struct profile_waits *w)
{
	return (double)w->queue_ns + (double)w->unknown_ns + (double)w->blocked_ns +
	       (double)w->both_ns;
}

/* What the kernel counts of a thread begins after its creation, and ends before its end is
 * recorded. */
static void put_rest(struct summary *s, double share)
{
	if (share >= 0.0005)
		buf_printf(s->out, ", %s %% as they began and ended", DECIMAL(100 * share, 1));
}

/* As found by records of switches. */
static void put_waits(struct summary *s, const struct profile_waits *w, double used, double life_ns)
{
	const double both = 100 * (double)w->both_ns / life_ns;

	put_share(s, w->queue_ns, life_ns, "waiting for a CPU");
	put_share(s, w->unknown_ns, life_ns, "unknown (lost records)");
	if (both >= 0.05)
		put_share(s, w->blocked_ns, life_ns, "blocked");
	buf_printf(s->out, "%s %% blocked%s",
		   DECIMAL(both >= 0.05 ? both : 100 * (double)w->blocked_ns / life_ns, 1),
		   both >= 0.05 ? " or waiting for a CPU" : "");
	put_rest(s, 1 - (used + waited_ns(w)) / life_ns);
	buf_addc(s->out, '\n');
	/* where there is room; reports say more */
	if (!job_is_tight(s->j))
		buf_adds(s->out, "  waits are found by records of switches\n");
}

/* The time on a CPU, as counted: where processes end, more than wait4 has. */
static bool find_used(const struct summary *s, double *out)
{
	return summary_target_find_count(s, "software", "task_clock", out) ||
	       summary_target_find_count(s, "software", "cpu_clock", out);
}

static bool find_waits(const struct summary *s, double *queue, double *blocked)
{
	return summary_target_find_count(s, "sched", "run_queue_time", queue) &&
	       summary_target_find_count(s, "sched", "off_cpu_time", blocked);
}

/* Of what was measured, however long its threads existed: in all runs, or of processes that other
 * ones began. */
static void put_sums(struct summary *s, bool are_runs)
{
	const struct profile_waits *waits = find_recorded(s);
	double used, queue = 0, blocked = 0, all;

	if (!find_used(s, &used) || (!waits && !find_waits(s, &queue, &blocked)))
		return;
	all = used + (waits ? waited_ns(waits) : queue + blocked);
	if (!(all > 0))
		return;
	buf_printf(s->out, "  %s of threads", HUMAN(all, "ns"));
	if (are_runs)
		buf_printf(s->out, " in %s runs", COMMAS(summary_target_nr_runs(s)));
	buf_printf(s->out, ": %s %% on CPU, ", DECIMAL(100 * used / all, 1));
	if (waits)
		put_waits(s, waits, used, all);
	else
		buf_printf(s->out, "%s %% waiting for a CPU, %s %% blocked\n",
			   DECIMAL(100 * queue / all, 1), DECIMAL(100 * blocked / all, 1));
}

/* queue, blocked: as counted, without waits. */
static void conclude(struct summary *s, const struct profile_waits *waits,
		     const struct profile_lifetime *life, double used, double all, double queue,
		     double blocked)
{
	struct conclusion *c = &s->j->output->conclusion;
	const struct trace_target *t = &s->target;

	c->wall_ns = (double)(t->end_ns - t->start_ns);
	c->all_ns = all;
	c->used_ns = used;
	c->queue_ns = waits ? (double)waits->queue_ns : queue;
	c->blocked_ns = waits ? (double)waits->blocked_ns : blocked;
	c->nr_cpus = s->facts->info ? s->facts->info->nr_cpus : 0;
	c->nr_threads = life->nr_threads;
	c->nr_tree = life->nr_processes;
	c->nr_leaves = life->nr_leaves;
	c->alone_ns = (double)life->alone_ns;
	c->parents_ns = (double)life->parents_ns;
	c->is_make = conclusion_is_make(t->text);
}

void summary_target_put_states(struct summary *s, bool are_runs)
{
	enum { ENDED = TRACE_TARGET_IS_COMMAND | TRACE_TARGET_HAS_ENDED };
	const struct trace_target *t = &s->target;
	struct input *input = &s->j->inputs->item[s->j->first];
	double used = (double)t->user_ns + (double)t->system_ns, counted = 0, queue = 0,
	       blocked = 0, rest, all;
	const struct profile_waits *waits = find_recorded(s);
	struct profile_lifetime life;
	bool is_counted;

	if (!s->facts->is_sampling || summary_target_is_process_only(s))
		return;
	if (are_runs || !(t->flags & TRACE_TARGET_IS_COMMAND)) {
		put_sums(s, are_runs);
		return;
	}
	if (summary_target_may_miss_tasks(s) || s->totals->lost || s->totals->gap_ns ||
	    (t->flags & ENDED) != ENDED || inputs_load_processes(input) ||
	    profile_lifetime(input->processes, t->pid, t->start_ns, t->end_ns, &life) || !life.ns)
		return;
	if (summary_target_find_count(s, "software", "task_clock", &counted) && counted > used)
		used = counted;
	used = fmin(used, (double)life.ns); /* wait4's time of a short command includes exec */
	all = (double)life.ns;
	is_counted = !waits && !summary_target_is_partial(s) && find_waits(s, &queue, &blocked);
	/* to the very end of each thread, which is recorded a little before */
	if (is_counted || waits)
		all = fmax(all, used + (waits ? waited_ns(waits) : queue + blocked));
	buf_printf(s->out, "  %s of %s %s: %s %% on CPU, ", HUMAN(all, "ns"),
		   COMMAS(life.nr_threads), str_plural(life.nr_threads, "thread", "threads"),
		   DECIMAL(100 * used / all, 1));
	if (is_counted || waits)
		conclude(s, waits, &life, used, all, queue, blocked);
	if (waits) {
		put_waits(s, waits, used, all);
	} else if (is_counted) {
		rest = 1 - (used + queue + blocked) / all;
		buf_printf(s->out, "%s %% waiting for a CPU, %s %% blocked",
			   DECIMAL(100 * queue / all, 1), DECIMAL(100 * blocked / all, 1));
		put_rest(s, rest);
		buf_adds(s->out, "\n");
	} else {
		rest = fmax(0, 1 - used / all);
		buf_printf(s->out, "%s %% blocked or waiting for a CPU%s\n", DECIMAL(100 * rest, 1),
			   rest > 0.1 && !has_event(s, "off_cpu_time")
			       ? " (--spec-file=wall samples where)"
			       : "");
	}
}
