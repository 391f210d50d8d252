/*
 * Parts of the summary of a target. Each put function appends lines to the summary's text.
 */
#ifndef CPUPERF_PRINT_SUMMARY_TARGET_H
#define CPUPERF_PRINT_SUMMARY_TARGET_H

#include "summary/summary.h"

/* Whether events of the target were measured in user mode, and in the kernel; and whether this user
 * may not measure one of them. */
struct summary_target_modes {
	bool is_open, has_kernel, is_refused;
};
struct summary_target_modes summary_target_modes(const struct summary *s);
/* Whether the counts are of a part of the target's time; wait4 reports the whole. Each run has
 * both. */
bool summary_target_is_partial(const struct summary *s);
/* The count of an event of the session; false: there is none. */
bool summary_target_find_count(const struct summary *s, const char *group, const char *name,
			       double *out);
/* What runs on after the measuring, or ran before it: wait4 has nothing of it. */
bool summary_target_is_of_proc(const struct summary *s);
/* --no-children: the events are of the processes of the target, not of those that they create. */
bool summary_target_is_process_only(const struct summary *s);
/* Some tasks may be missing from the common file: it was shortened. */
bool summary_target_may_miss_tasks(const struct summary *s);
/* How many runs were asked for. */
uint64_t summary_target_nr_runs(const struct summary *s);
/* The resolution of a time of /proc, which is stored in ticks per process. */
double summary_target_tick_ns(const struct summary *s);
/* "12.34 ms"; below a tick "< 10.00 ms", of several processes "< 10.00 ms each". */
void summary_target_put_proc_time(const struct summary *s, double ns, struct buf *out);
/* How it ended; or its runs. */
void summary_target_put_end(struct summary *s, bool are_runs);
/* Its time, memory and input and output. */
void summary_target_put_usage(struct summary *s);
/* Where the time of all threads went. Events miss the first and last steps of a task, wait4 what
 * was not waited for: the CPU time is the larger one. */
void summary_target_put_states(struct summary *s, bool are_runs);
/* Processes that run on: "still running at its end, and not measured from then on: 12 (sleep), 13
 * (sh)". Without samples, or where records were lost, what the recorder found in /proc is named.
 * With --no-children there is no record of the end or the program of a child. Of an unfinished
 * session, processes are of the run that has not ended. */
void summary_target_put_left(struct summary *s, bool are_runs);
/* Programs with more rights than their caller: the kernel ends their events at exec. By the records
 * of exec and end, without samples by what the recorder found in /proc. */
void summary_target_put_hidden(struct summary *s);
/* The events without a number, by their reason. */
void summary_target_put_missing(struct summary *s);
/* The kernel accounts all CPU time of a task, but counts its events only between its first switch
 * in and its last steps. A program with more rights than its caller ends them (Linux,
 * commit_creds). */
void summary_target_put_uncounted(struct summary *s, bool are_runs);
/* Counts, and the modes that could be measured. */
void summary_target_put_counts(struct summary *s, bool are_runs, double seconds);

#endif
