/*
 * What the points of a series come to, for people: a line for each event and metric, and for each
 * of its CPUs and things, with its numbers over equal slices of time. Memory is bounded: slices
 * become wider as time goes on. Knows nothing of how a line is shown.
 */
#ifndef COUNTS_LINES_H
#define COUNTS_LINES_H

#include "counts/series.h"

struct counts_lines;

enum {
	COUNTS_LINES_SLICES = 256, /* of a line, at most; half of them once time has gone on */
	COUNTS_MAX_LINES = 4096,
};

struct counts_line {
	uint32_t column, cpu;        /* COUNTS_NO_CPU: of the machine, or over all CPUs */
	struct table_column of;      /* what it is */
	const char *thing;           /* NULL: of none */
	uint32_t number;             /* of the thing */
	bool is_samples;             /* an estimate from samples, of what they stand for */
	bool is_rate;                /* a metric that grows with time: told for a second */
	bool has_number;             /* the three hold */
	double min, mean, max;       /* as shown: rates, percent, values */
	uint64_t nr_points;          /* with a number; of samples those with samples */
	struct cell_quality quality; /* of its points */
};

/* each_cpu: a line for each CPU too. The metrics are borrowed, and so is what columns of points
 * name. NULL without memory. */
struct counts_lines *counts_lines_new(size_t nr_events, const struct metric_set *metrics,
				      bool each_cpu);
void counts_lines_free(struct counts_lines *l); /* NULL is fine */

/* A counts_series_fn; arg is the lines. -ENOMEM. */
int counts_lines_add(void *arg, const struct counts_series_point *p);

/*
 * After the last point: makes the lines of metrics, whose numbers come of those of their operands,
 * and puts all in order: by column; of each that of the machine first, then CPUs, then things,
 * those with most first. Minimum and maximum are of points, or of slices where several CPUs add up
 * and no point is of them all. Of a value of each CPU the line over all is their mean. An event
 * with counts and with samples has the line of which there are more points. 0 or -ENOMEM.
 */
int counts_lines_end(struct counts_lines *l);
size_t counts_lines_nr(const struct counts_lines *l);
const struct counts_line *counts_lines_at(const struct counts_lines *l, size_t i);
/* Lines of things or CPUs that there was no room for. */
uint64_t counts_lines_left(const struct counts_lines *l);
/* The time of all lines, since the session's start. */
uint64_t counts_lines_start_ns(const struct counts_lines *l);
uint64_t counts_lines_span_ns(const struct counts_lines *l);
/* The line's number in each of nr (not 0) equal parts of that time; NAN: none. */
void counts_lines_shape(const struct counts_lines *l, size_t i, double *out, size_t nr);

#endif
