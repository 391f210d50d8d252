/*
 * Summarizes the points of a series: a line for each event and metric, and for each of its CPUs and
 * things, with numbers over equal slices of time. Memory is bounded: slices become wider over time.
 */
#ifndef COUNTS_LINES_H
#define COUNTS_LINES_H

#include "counts/series.h"

struct counts_lines;

enum {
	COUNTS_LINES_SLICES = 256, /* per line at most; a long session uses at least half */
	COUNTS_MAX_LINES = 4096,
};

struct counts_line {
	uint32_t column, cpu;   /* COUNTS_NO_CPU: the machine, or all CPUs */
	struct table_column of; /* its event or metric */
	const char *thing;      /* NULL: none */
	uint32_t number;        /* of the thing */
	bool is_samples;        /* an estimate from the weight of samples */
	struct unit unit;       /* unit of min, mean and max; a metric may be per second */
	bool has_number;        /* min, mean and max are valid */
	double min, mean, max;  /* in shown units */
	double limit;           /* what is possible, likewise (table_limit_shown); NAN: unknown */
	uint64_t nr_points;     /* points with a number; for samples, those with samples */
	struct cell_quality quality; /* of its points */
};

/* each_cpu: a line for each CPU too. nr_cpus: of the machine; 0: unknown. Borrows the metrics and
 * the strings of the points' columns. NULL without memory. */
struct counts_lines *counts_lines_new(size_t nr_events, const struct metric_set *metrics,
				      bool each_cpu, uint64_t nr_cpus);
void counts_lines_free(struct counts_lines *l); /* NULL is fine */

/* A counts_series_fn; arg is the lines. -ENOMEM. */
int counts_lines_add(void *arg, const struct counts_series_point *p);

/*
 * Call after the last point. Computes the lines of metrics from those of their operands, and sorts:
 * by column, then the machine, CPUs, and things with the largest mean first. Minimum and maximum
 * are those of points, or of slices if several CPUs add up and no point covers them all. The line
 * of a value over all CPUs is their mean. An event with counts and samples gets the line with more
 * points. 0 or -ENOMEM.
 */
int counts_lines_end(struct counts_lines *l);
size_t counts_lines_nr(const struct counts_lines *l);
const struct counts_line *counts_lines_at(const struct counts_lines *l, size_t i);
/* The number of points without a line, because there were too many things or CPUs. */
uint64_t counts_lines_nr_skipped(const struct counts_lines *l);
/* The time that the lines cover, since the session's start. */
uint64_t counts_lines_start_ns(const struct counts_lines *l);
uint64_t counts_lines_span_ns(const struct counts_lines *l);
/* The line's number in each of nr (not 0) equal parts of that time; NAN: no number. */
void counts_lines_shape(const struct counts_lines *l, size_t i, double *out, size_t nr);
/* The same of another time: from start_ns on, since the session's start. */
void counts_lines_shape_at(const struct counts_lines *l, size_t i, int64_t start_ns,
			   uint64_t span_ns, double *out, size_t nr);
/* The session's start, CLOCK_MONOTONIC; 0: it has no points. */
uint64_t counts_lines_origin_ns(const struct counts_lines *l);

#endif
