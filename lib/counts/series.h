/*
 * A session over time: a point per interval between two successive readings, by the arithmetic of
 * tables.
 *
 * A tally has points per iteration; of events that have paces of their own, a point per reading,
 * of which the points of an iteration add up to its count. A session that samples has points of
 * readings at the timebase's pace or these, of the counts in the timebase's samples, of what was
 * read at the boundaries only, and of the number of samples in each slice of time. Its totals over
 * CPUs are those of iterations: the readings of several CPUs between the boundaries are not
 * simultaneous. Latencies have a point per iteration for each quantile, which is a thing of its
 * event ("p99", "device p99"), in ns.
 */
#ifndef COUNTS_SERIES_H
#define COUNTS_SERIES_H

#include "estimate/table.h"
#include "estimate/unit.h"
#include "profile/session.h"

#include <stdatomic.h>

struct counts_slices;
struct err;
struct profile_filter;

enum { COUNTS_NO_CPU = TABLE_ALL_CPUS };
enum { COUNTS_SERIES_UNIT_BYTES = 64 };

/* One number of one event or metric, on one CPU, of one thing, or of the machine. */
struct counts_series_point {
	uint32_t column;                 /* events of the session, then its metrics */
	const struct table_column *of;   /* its event or metric */
	const struct table_thing *thing; /* NULL: none */
	bool is_samples;                 /* a number of samples; weight is valid */
	bool is_total; /* over the CPUs in an iteration, which have their own points */
	uint32_t iteration, trace, cpu; /* COUNTS_NO_CPU: the machine, or a total */
	uint64_t origin_ns;             /* when the session began */
	uint64_t start_ns, end_ns;      /* the interval, CLOCK_MONOTONIC */
	const struct cell *cell;        /* with or without a number; never blank */
	uint64_t weight;
};

/* A result other than 0 ends the reading and is returned. The point is borrowed. */
typedef int counts_series_fn(void *arg, const struct counts_series_point *p);

struct counts_series_config {
	struct profile_session *session; /* is rewound */
	const struct metric_set *metrics;
	/* Its events, CPUs, iterations and times apply; a point must lie within the times. CPUs do
	 * not filter points of the machine. */
	const struct profile_filter *filter;
	bool has_all_events; /* the filter's events do not apply: metrics need all */
	/* For samples; from the session's start on; not 0. Less than half of it at the begin or end
	 * of a trace is not a slice of its own. */
	uint64_t slice_ns;
	bool has_totals; /* also in a session that samples; a tally always has them */
	/* Intervals end at samples, at least slice_ns apart, in place of slices: a sample's weight
	 * accrued since the one before it, so these are smooth where samples are few. */
	bool from_sample_to_sample;
	counts_series_fn *point;
	void *arg;
	/* What samples add up to is kept there, and not read again: with the same session,
	 * slice_ns and from_sample_to_sample each time. NULL: it is read. */
	struct counts_slices *slices;
	/* Borrowed; once it is not 0, reading ends with -ECANCELED. NULL: never. */
	const atomic_uint *cancel;
	/* Called with each trace, also of iterations that the filter skips; may be NULL. */
	void (*trace)(void *trace_arg, const struct profile_trace *trace);
	void *trace_arg;
};

/*
 * Points of one event on one CPU come in order of time; in a session that samples, one CPU after
 * the other. An interval without samples is one point, however long. Memory is that of one
 * iteration's readings of one trace. 0; -ENOMEM, -EFBIG with *e; -ECANCELED; what point returned.
 */
int counts_series(const struct counts_series_config *config, struct err *e);

/* The point's number as shown (estimate/unit.h). False: it has none. */
bool counts_series_value(const struct counts_series_point *p, double *out);
/* Its unit: "samples/s", "%", "B", "B/s" …; returns text. */
const char *counts_series_unit(const struct counts_series_point *p,
			       char text[COUNTS_SERIES_UNIT_BYTES]);

#endif
