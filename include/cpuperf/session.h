/*
 * libcpuperf: sessions, recorded and read back, as rows of numbers for each iteration.
 */
#ifndef CPUPERF_SESSION_H
#define CPUPERF_SESSION_H

#include "cpuperf/counts.h"
#include "cpuperf/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One event on one CPU over one iteration, or over all CPUs, or of one thing. */
struct cpuperf_cell {
	size_t size;       /* of the library's struct */
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

/* A disk, process, network interface or control group, with the number of one event. */
struct cpuperf_thing {
	size_t size;      /* of the library's struct */
	size_t event;     /* its index */
	uint32_t number;  /* of the thing, in the session: the same for all of its events */
	const char *name; /* "sda", "1234 gcc" */
	const struct cpuperf_cell *cell;
};

/* One iteration. It and what is returned for it are valid during the call only. */
struct cpuperf_iteration {
	size_t size;               /* of the library's struct */
	uint32_t number;           /* from 0 */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	size_t nr_events, nr_cpus, nr_things;
};

enum { CPUPERF_ANY_CPU = -1 }; /* as uint32_t, of a row: counts of the target, wherever it ran */

/* An event or metric; the CPU of a row; the cell of an event in a row; an event's cell over all
 * CPUs (a metric's is computed from the totals of its events); a thing: event by event. NULL, and
 * CPUPERF_ANY_CPU, for an index that is too high. */
CPUPERF_PUBLIC const struct cpuperf_event *
cpuperf_iteration_event(const struct cpuperf_iteration *it, size_t event);
CPUPERF_PUBLIC uint32_t cpuperf_iteration_cpu(const struct cpuperf_iteration *it, size_t row);
CPUPERF_PUBLIC const struct cpuperf_cell *cpuperf_iteration_cell(const struct cpuperf_iteration *it,
								 size_t event, size_t row);
CPUPERF_PUBLIC const struct cpuperf_cell *
cpuperf_iteration_total(const struct cpuperf_iteration *it, size_t event);
CPUPERF_PUBLIC const struct cpuperf_thing *
cpuperf_iteration_thing(const struct cpuperf_iteration *it, size_t i);

/*
 * Called for each iteration. A result other than 0 ends the recording or the reading. While
 * recording, the next iteration has already begun: a slow call makes it longer, and samples are
 * lost when the buffers are full. In this case, pass a copy to another thread.
 */
typedef int cpuperf_iteration_fn(const struct cpuperf_iteration *it, void *arg);

/* A recording, in a thread of its own, which has no signals. */
struct cpuperf_session;

enum {
	CPUPERF_MACHINE = 4, /* a scope of sessions: all CPUs and what runs there; id: 0 */
	/* Likewise: what runs in a control group and below it, also later; id: a descriptor of its
	 * folder (cgroup2), which may be closed after the opening. */
	CPUPERF_CGROUP = 5,
	CPUPERF_IN_MEMORY = 2 /* a flag: what is sampled is held in memory until close, and no
			       * files are saved, whatever the spec says */
};

/*
 * Opens the events, not yet counting. scope is CPUPERF_MACHINE, CPUPERF_CGROUP, or as for
 * counters, of which flags has CPUPERF_CHILDREN too; the spec's key target must be absent. A
 * command is measured by its pid before it calls exec (libcpuperf(3)). The
 * session's own threads are not measured with the caller's process. An event that cannot be
 * measured is no error; if none can, it is.
 */
CPUPERF_PUBLIC int cpuperf_session_open(struct cpuperf_session **out,
					const struct cpuperf_spec *spec, int scope, int id,
					unsigned flags, struct cpuperf_error *e);
/* Stops it, waits for its end and frees it; what was held in memory is gone. NULL is fine. Not from
 * within fn. */
CPUPERF_PUBLIC void cpuperf_session_close(struct cpuperf_session *s);

CPUPERF_PUBLIC size_t cpuperf_session_nr_events(const struct cpuperf_session *s);
CPUPERF_PUBLIC const struct cpuperf_event *cpuperf_session_event(const struct cpuperf_session *s,
								 size_t i);

/* Begins to measure, and returns when all events count: what the caller does next is measured. If
 * it cannot begin (a file cannot be made), the result is that of cpuperf_session_wait. fn is called
 * in the session's thread after each iteration; it may be NULL. Once only: -EALREADY. */
CPUPERF_PUBLIC int cpuperf_session_start(struct cpuperf_session *s, cpuperf_iteration_fn *fn,
					 void *arg, struct cpuperf_error *e);
/* Has the session's thread end the iteration in progress, as soon as it runs; the next one begins
 * with its end. Returns at once: what the caller does meanwhile may still be in the iteration, and
 * calls before its end are one. From any thread, and from signal handlers. */
CPUPERF_PUBLIC void cpuperf_session_cut(struct cpuperf_session *s);
/* Ends the session: the iteration in progress is read, passed to fn and saved. Returns at once.
 * From any thread, from fn and from signal handlers. Before start: it ends when it is started. */
CPUPERF_PUBLIC void cpuperf_session_stop(struct cpuperf_session *s);
/* Waits for the end: by stop, fn, or the spec's num_iterations. The result of the session. Not from
 * within fn. */
CPUPERF_PUBLIC int cpuperf_session_wait(struct cpuperf_session *s, struct cpuperf_error *e);

/* Measures by the spec file, saves the files that it names, calls fn after each iteration, and
 * returns at the end. */
CPUPERF_PUBLIC int cpuperf_record(const char *spec_path, cpuperf_iteration_fn *fn, void *arg,
				  struct cpuperf_error *e);

/* Reads a saved session and calls fn for each iteration, in this thread. Missing or damaged parts
 * are skipped and named in *e: the result is then -EBADMSG, after everything readable was passed to
 * fn. */
CPUPERF_PUBLIC int cpuperf_read(const char *cpsession_path, cpuperf_iteration_fn *fn, void *arg,
				struct cpuperf_error *e);

#ifdef __cplusplus
}
#endif

#endif
