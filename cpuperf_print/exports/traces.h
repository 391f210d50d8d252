/*
 * What the traces of a session say beside their records: when it was, and what must be known of its
 * numbers, in words for the places that formats have for such. Knows no format.
 */
#ifndef CPUPERF_PRINT_EXPORTS_TRACES_H
#define CPUPERF_PRINT_EXPORTS_TRACES_H

#include "samples.h"

/* How long an event was counted, over its readings. */
struct export_ran {
	uint64_t enabled_ns, running_ns;
};

struct export_traces {
	uint64_t start_ns, end_ns; /* of all iterations that were read, CLOCK_MONOTONIC */
	uint64_t measured_ns;      /* in iterations: without what is between them */
	bool has_clocks;
	struct clock_triple clocks; /* of the first trace that has them */
	struct export_ran *ran;     /* owned; of each event */
	size_t nr_ran;
	struct buf notes; /* of the traces, each once, with a NUL behind it */
};

/* Of a session; reads its traces, but not their records. each: told of them, in order; what it
 * returns, if not 0, ends the reading; may be NULL. *out is to be finished in any case. -errno with
 * *e. */
typedef int export_trace_fn(void *arg, const struct profile_trace *trace);
int export_traces_load(struct job *j, size_t session, export_trace_fn *each, void *arg,
		       struct export_traces *out, struct err *e);
void export_traces_fini(struct export_traces *f);
/* CLOCK_REALTIME of a time of the session; 0: not known. */
uint64_t export_traces_realtime(const struct export_traces *f, uint64_t monotonic_ns);

/* Lines for people, in order: what was measured where, what is multiplexed, notes; and of all
 * sessions that were read at once: what became of their samples, what is missing. */
typedef void export_line_fn(void *arg, const char *line);
void export_session_lines(const struct job *j, size_t session, const struct export_traces *f,
			  export_line_fn *line, void *arg);
void export_samples_lines(const struct job *j, const struct report_stats *stats,
			  export_line_fn *line, void *arg);

/* What of the files could not be read until now. */
void export_unread_lines(const struct job *j, export_line_fn *line, void *arg);

/* What is shown = count × this, where that is a whole number; else 1, and what is shown is raw. */
uint64_t export_scale(const struct trace_event *event);
bool export_is_sampled(const struct trace_event *event);
/* Of the session there are counts over time besides samples. They know no tasks: a warning if
 * options are given that they cannot follow. */
bool export_has_counters(struct job *j, const struct input *o);
/* The event whose pace is that of the session, or the first that is sampled; UINT32_MAX: none. */
uint32_t export_timebase(const struct profile_facts *facts);

#endif
