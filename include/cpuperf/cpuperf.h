/*
 * libcpuperf: record a session and read one back.
 *
 * Link with pkg-config --static --libs cpuperf. Every function that can fail returns 0 or a
 * negative errno and, where it takes a struct cpuperf_error, says in words what went wrong. Nothing
 * here prints or exits. Objects are used by one thread at a time; different objects are
 * independent.
 * jansson's allocator (json_set_alloc_funcs) is set once, to functions on malloc: a program with
 * hooks of its own in jansson cannot use this library.
 */
#ifndef CPUPERF_CPUPERF_H
#define CPUPERF_CPUPERF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" */
const char *cpuperf_version(void);

/* What went wrong: "file:line:column: error: …", perhaps several lines. Empty if nothing. */
struct cpuperf_error {
	char text[2048];
};

/* How an event's value is to be read. */
enum cpuperf_kind {
	CPUPERF_COUNT = 1, /* how often it occurred in the iteration */
	CPUPERF_VALUE = 2, /* a reading at the end of the iteration */
	CPUPERF_SHARE = 3, /* percent of the iteration's time */
	CPUPERF_METRIC = 4 /* made of events by the spec's "metrics"; it has no raw */
};

/* A metric is one too, of the group "metric"; metrics are behind the events. */
struct cpuperf_event {
	const char *group, *name;
	const char *label; /* the column's name */
	const char *unit;  /* "cycles", "ns", "B", "%" … */
	enum cpuperf_kind kind;
	const char *reason; /* why it was not measured; NULL if it was */
};

/* One event on one CPU over one iteration, or over all CPUs. */
struct cpuperf_cell {
	int has_value;     /* 0: value does not hold; state says why */
	const char *state; /* "ok", "not counted", "not supported", "n/a" …; "partial": a sum that
			      lacks a CPU or a thing; "": none here */
	double value;      /* count (scaled if it was multiplexed), reading, percent, metric */
	uint64_t raw;      /* as the kernel gave it: difference, or reading */
	uint64_t enabled_ns; /* how long it was wanted … */
	uint64_t running_ns; /* … and how long it was really counted; both 0 if not from perf_event.
				Of a metric: of its event that was counted least */
	uint64_t span_ns;    /* between the two readings */
	/* Of an event that is sampled; of others 0, 0, 0 and -1. */
	uint64_t samples; /* taken, and in the trace */
	uint64_t lost;    /* by the kernel's count; UINT64_MAX: it does not tell them by event */
	int64_t residual; /* raw less the sum of the samples' periods: what is in no sample */
	double coverage;  /* received samples / expected ones, at most 1; negative: not claimed */
};

/* One iteration. Borrowed for the time of a call. */
struct cpuperf_iteration {
	uint32_t number;           /* from 0 */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	size_t nr_events, nr_cpus; /* columns and rows */
	const struct cpuperf_event *events;
	const uint32_t *cpus;             /* the CPU of each row */
	const struct cpuperf_cell *cells; /* row by row: cells[row * nr_events + event] */
	/* Over all CPUs, by event; that of a metric is made of the totals of its events. */
	const struct cpuperf_cell *totals;
};

/*
 * Called for each iteration; a result other than 0 ends the recording or the reading after it.
 * By the thread that called cpuperf_record or cpuperf_read. While recording the next iteration has
 * begun already: a call that takes long (by writing to a pipe that nobody reads, say) makes that
 * one longer, and samples are lost when the buffers are full. Then hand a copy to another thread.
 */
typedef int cpuperf_iteration_fn(const struct cpuperf_iteration *it, void *arg);

/*
 * Measures what the spec file says and calls fn after each iteration. Files are written as the spec
 * says. Events that cannot be measured here are no error: their reason is set. fn may be NULL.
 */
int cpuperf_record(const char *spec_path, cpuperf_iteration_fn *fn, void *arg,
		   struct cpuperf_error *e);

/*
 * Reads a session back and calls fn for each iteration. Missing or damaged parts are skipped
 * and named in *e: the result is then -EBADMSG, after everything readable was passed to fn.
 */
int cpuperf_read(const char *cpsession_path, cpuperf_iteration_fn *fn, void *arg,
		 struct cpuperf_error *e);

#ifdef __cplusplus
}
#endif

#endif
