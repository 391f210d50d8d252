/*
 * libcpuperf: counters of a program's own threads, of processes and CPUs; sessions, recorded and
 * read back. libcpuperf(3) describes it.
 *
 * Link with pkg-config --libs cpuperf. Functions that can fail return 0 or a negative errno and
 * describe the error. None prints, exits, or changes how the process handles signals or allocates
 * memory. An object may be used by one thread at a time, except where its calls say more; different
 * objects are independent.
 */
#ifndef CPUPERF_CPUPERF_H
#define CPUPERF_CPUPERF_H

#include "cpuperf/base.h"
#include "cpuperf/counts.h"
#include "cpuperf/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One event on one CPU over one iteration, or over all CPUs. */
struct cpuperf_cell {
	int has_value;     /* 0: there is no value, for the reason in state */
	const char *state; /* "ok", "not counted", "not supported", "n/a" …; "partial": a sum
			      without some CPU or thing; "": the event has no cell here */
	double value;      /* count (scaled if it was multiplexed), reading, percent, metric */
	uint64_t raw;      /* unscaled: a difference of two readings, or a reading */
	/* Times of perf_event, else 0. Of a metric: those of its event with the smallest
	 * running_ns / enabled_ns. */
	uint64_t enabled_ns, running_ns;
	uint64_t span_ns; /* between the two readings */
	/* Of an event that is sampled; of others 0, 0, 0 and -1. */
	uint64_t samples; /* taken, and in the trace */
	uint64_t lost;    /* by the kernel; UINT64_MAX: it does not count them per event */
	int64_t residual; /* raw minus the sum of the samples' periods */
	double coverage;  /* samples / expected samples, at most 1; negative: unknown */
};

/* One iteration. Valid during the call only. */
struct cpuperf_iteration {
	uint32_t number;           /* from 0 */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	size_t nr_events, nr_cpus; /* columns and rows */
	const struct cpuperf_event *events;
	const uint32_t *cpus;             /* the CPU of each row */
	const struct cpuperf_cell *cells; /* row by row: cells[row * nr_events + event] */
	/* Over all CPUs, by event. A metric's is computed from the totals of its events. */
	const struct cpuperf_cell *totals;
};

/*
 * Called for each iteration, in the thread that called cpuperf_record or cpuperf_read. A result
 * other than 0 ends the recording or the reading. While recording, the next iteration has already
 * begun: a slow call (writing to a pipe that nobody reads, for example) makes it longer, and
 * samples are lost when the buffers are full. In this case, pass a copy to another thread.
 */
typedef int cpuperf_iteration_fn(const struct cpuperf_iteration *it, void *arg);

/*
 * Measures by the spec file, writes the files that it names, and calls fn after each iteration. An
 * event that cannot be measured is no error: its reason is set. fn may be NULL.
 */
CPUPERF_PUBLIC int cpuperf_record(const char *spec_path, cpuperf_iteration_fn *fn, void *arg,
				  struct cpuperf_error *e);

/*
 * Reads a session back and calls fn for each iteration. Missing or damaged parts are skipped
 * and named in *e: the result is then -EBADMSG, after everything readable was passed to fn.
 */
CPUPERF_PUBLIC int cpuperf_read(const char *cpsession_path, cpuperf_iteration_fn *fn, void *arg,
				struct cpuperf_error *e);

#ifdef __cplusplus
}
#endif

#endif
