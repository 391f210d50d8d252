/*
 * What threads do over time, by records of their switches: they run, are preempted, or are blocked
 * and then wait for a CPU. From each switch out to the next switch in a thread waits. What share of
 * a wait was for a CPU the records do not show: readings of how long the thread waited for CPUs in
 * all divide the waits between them, each in the same shares.
 *
 * How long a thread ran is from each switch in to the next switch out. What it ran more than its
 * samples of a clock stand for has no place: a task that ends before its first sample, and what may
 * not be sampled. It is added up by command, since a period stands for more or less than the time
 * of a task that is sampled once.
 *
 * So all records and readings are passed twice, in order of time: the first time finds the shares,
 * the second one makes samples.
 *
 * That rest becomes samples without a stack (profile_sample.is_rest, "[not sampled]"), where the
 * clock's attr.config1 says so (PERF_ABI_CLOCK_COMPLETED). Why not a child's run time from the
 * kernel itself (attr.inherit_stat): at the child's exit the kernel writes into the rings of all
 * CPUs, beside what these write.
 */
#ifndef PROFILE_PHASES_H
#define PROFILE_PHASES_H

#include "base/dict.h"
#include "profile/wait_samples.h"

struct reading;

struct phases {
	struct wait_samples *samples; /* borrowed */
	struct dict threads, splits, surveyed, commands;
	size_t nr_splits;               /* of all threads */
	uint64_t losses, losses_before; /* before: the iteration */
	bool is_first;                  /* of the passes: nothing is made */
	bool is_command;                /* the target of the iteration */
	uint64_t start_ns;              /* of the iteration */
	uint64_t run_ns; /* what the clocks count of a run beside what records show of it */
	uint64_t ran_ns, nr_runs; /* by the records of the iteration */
};

/* Memory grows with the number of threads and readings, up to limits: beyond them waits are not
 * divided, or the calls below return -ENOMEM. */
void phases_init(struct phases *p, struct wait_samples *samples);
void phases_fini(struct phases *p);
/* Before each pass. */
void phases_begin_pass(struct phases *p, bool is_first);

/* Each adds what a record says of its thread. 0 or -errno. The thread was switched in or out. */
int phases_add_switch(struct phases *p, const struct trace_record *r);
/* The thread ran: a sample of this event. */
int phases_add_sample(struct phases *p, const struct trace_record *r, uint32_t event);
/* The thread was seen blocked. */
int phases_add_seen(struct phases *p, const struct trace_record *r, uint32_t event);
/* The thread was created, ended, or executes another program. Other records are ignored. */
int phases_add_task(struct phases *p, const struct trace_record *r);
/* The thread existed before the session. */
int phases_add_surveyed(struct phases *p, const struct trace_record *r);
/* How long it ran (enabled_ns) and waited for CPUs (raw), and the times it was switched in
 * (running_ns), so far. */
int phases_add_reading(struct phases *p, const struct reading *r);
/* Records were lost, of any thread. */
void phases_add_loss(struct phases *p);

/* What happens from here on is of an iteration that starts then. has_gap: nothing was recorded for
 * some time before. */
void phases_begin(struct phases *p, uint64_t start_ns, bool is_command, bool has_gap);
/* Waits that last at the end count up to there. is_last: of these threads. */
int phases_end(struct phases *p, uint64_t end_ns, bool is_last);

#endif
