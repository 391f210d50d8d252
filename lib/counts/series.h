/*
 * A session over time: a point for what came between two readings that follow one another, by the
 * arithmetic of tables. Knows nothing of formats, and of what many points come to.
 *
 * Of a tally: each iteration. Of a session that samples: readings at the timebase's pace, counts
 * that stand in the timebase's samples, what was read at the boundaries alone, and how many samples
 * there were in each slice of time.
 */
#ifndef COUNTS_SERIES_H
#define COUNTS_SERIES_H

#include "metric/table.h"
#include "profile/session.h"

struct err;
struct profile_filter;

enum { COUNTS_NO_CPU = UINT32_MAX };
enum { COUNTS_SERIES_UNIT_BYTES = 64 };

/* One number of one event or metric, on one CPU, of one thing, or of the machine. */
struct counts_series_point {
	uint32_t column;                 /* events of the session, then its metrics */
	const struct table_column *of;   /* what it is */
	const struct table_thing *thing; /* NULL: of none */
	bool is_samples;                 /* a number of samples; weight: what they stand for */
	bool is_total;                   /* over the CPUs of an iteration, which have points too */
	uint32_t iteration, trace, cpu;  /* COUNTS_NO_CPU: of the machine, or a total */
	uint64_t origin_ns;              /* when the session began */
	uint64_t start_ns, end_ns;       /* what time it is of, CLOCK_MONOTONIC */
	const struct cell *cell;         /* with a number or without; never blank */
	uint64_t weight;
};

/* What is not 0 ends the reading, and is returned. The point is borrowed. */
typedef int counts_series_fn(void *arg, const struct counts_series_point *p);

struct counts_series_config {
	struct profile_session *session; /* is rewound */
	const struct metric_set *metrics;
	/* Its events, CPUs, iterations and times hold: of a point the whole of its time. CPUs leave
	 * out nothing of the machine. */
	const struct profile_filter *filter;
	uint64_t slice_ns; /* of samples; from the session's start on; not 0 */
	/* Not slices: from sample to sample, at least so far apart. What a sample stands for came
	 * since the one before it, so that these are smooth where samples are few. */
	bool from_sample_to_sample;
	counts_series_fn *point;
	void *arg;
	/* Called with each trace, also of iterations that the filter leaves out; may be NULL. */
	void (*trace)(void *trace_arg, const struct profile_trace *trace);
	void *trace_arg;
};

/*
 * Points of one event on one CPU come in the order of time; of a session that samples, CPUs one
 * after the other. A time without samples is one point, however long. Memory is that of one
 * iteration's readings of one trace. 0; -ENOMEM, -EFBIG with *e; what point returned.
 */
int counts_series(const struct counts_series_config *config, struct err *e);

/* The point's number as it is shown: the rate of a count, a share in percent, a value, a metric.
 * False: it has none. */
bool counts_series_value(const struct counts_series_point *p, double *out);
/* The unit of that: "samples/s", "%", "B", "B/s" …; maybe in text. */
const char *counts_series_unit(const struct counts_series_point *p,
			       char text[COUNTS_SERIES_UNIT_BYTES]);

#endif
