/*
 * Reads the samples of inputs into a sink, and reports those that are missing.
 */
#ifndef CPUPERF_PRINT_SAMPLES_H
#define CPUPERF_PRINT_SAMPLES_H

#include "job.h"
#include "report/engine.h"

/* -EINVAL with *e if an input has counts only. */
int samples_check(const struct job *j, struct err *e);
/* The inputs' names, and when they began if the job needs that; once. 0 or -errno with *e. */
int samples_load_names(struct job *j, struct err *e);
/* Passes the selected samples of inputs [first, first + nr) to sink. stats: free it with
 * report_stats_fini, also after failure. 0 or -errno with *e. */
int samples_read(struct job *j, size_t first, size_t nr, const struct report_sink *sink,
		 struct report_stats *stats, struct err *e);
/* For what prints records, not stacks: reads the samples of the job's first input, if they were
 * recorded with callers, and warns as samples_read does. 0 or -errno with *e. */
int samples_warn_stacks(struct job *j, struct err *e);
/*
 * Appends before and what is missing of an event's samples, whatever the filter. False and nothing
 * if at least 98 % were received (or the number is unknown), none were lost and the kernel did not
 * throttle the event.
 */
bool samples_add_missing(const struct job *j, struct buf *b, const char *before,
			 const struct report_stats *stats, uint32_t event);

/* Threads ran for a notable part of the time without a sample, which is in rows of its own. */
bool samples_lack_places(const struct report_event_stats *s);

/* Other events are added to this one, as states of threads. */
bool samples_are_of_states(const struct job *j, uint32_t event);
/* The samples of a weight of the event: what is made by records of switches is none of them. */
uint64_t samples_nr(const struct report_event_stats *s, const struct report_weight *w);

/* True if the event is of a target, whose tasks have each their own period, and clearly fewer
 * samples than expected arrived, though none was lost: most of the tasks end before their first
 * sample. */
bool samples_miss_short_tasks(const struct job *j, const struct report_stats *stats,
			      uint32_t event);

/*
 * Stacks that do not reach the start of their program: of the programs with the most of them, by
 * cause, from 1 % of all stacks on, a line each; then what to record instead, a line for each
 * cause. Lines begin with a small letter and have no full stop.
 */
typedef void samples_line_fn(void *arg, const char *line);
void samples_stack_lines(const struct job *j, const struct report_stats *stats,
			 samples_line_fn *line, void *arg);

/* The command line of that number in a report_key, joined by spaces, safe to show; NULL: not known.
 */
const char *samples_cmdline(const struct job *j, uint32_t number);

/* Programs add its samples up themselves: they have no time, and so no region. */
bool samples_are_added_up(const struct trace_event *e);
/* Its samples are of waits: their sum is known from them alone. */
bool samples_is_wait(const struct trace_event *e);
/* Clocks of the CPUs sampled for the target's tasks: the event's count has neither the start nor
 * the end of a task, its samples have both. */
bool samples_are_selected(const struct job *j, uint32_t event);

#endif
