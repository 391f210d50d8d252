/*
 * Reads the counts of a session, as selected: into tables, one per iteration, or over time.
 */
#ifndef CPUPERF_PRINT_TABLES_H
#define CPUPERF_PRINT_TABLES_H

#include "counts/lines.h"
#include "estimate/table.h"
#include "job.h"

/* Adds a trace as a row of the current iteration. If its CPU is not selected, the row is dropped;
 * the first row stays, with only what belongs to the machine. */
void tables_add_row(struct job *j, struct table *t, const struct profile_trace *trace);

struct tables {
	struct table *t; /* the current iteration; before the first, columns without rows */
	struct job *j;
	const struct profile_ranges *iterations; /* borrowed */
	struct profile_iterator *iterator;       /* owned */
	struct profile_trace trace;              /* read ahead: of the next iteration */
	bool has_trace;
	/* Called for each trace of a selected CPU; may be NULL. */
	void (*on_trace)(void *arg, const struct profile_trace *trace);
	void *arg;
};

/* 0 or -errno with *e; tables_close in any case. */
int tables_open(struct tables *x, struct job *j, const struct input *o, struct err *e);
void tables_close(struct tables *x);
/* Reads the next iteration and fills its totals. 1, 0 after the last, or -errno with *e. */
int tables_next(struct tables *x, struct err *e);

/* Calls point with each point, also of totals; samples are counted per 100 ms. 0, what point
 * returned, or -errno with *e. */
int tables_series(const struct job *j, const struct input *o, counts_series_fn *point, void *arg,
		  struct err *e);
/* The same as lines, also of events that are not selected: metrics need all. trace: called with
 * each trace, also of iterations that are not selected; may be NULL. *out: free it with
 * counts_lines_free. 0 or -errno with *e. */
int tables_lines(const struct job *j, const struct input *o, bool each_cpu,
		 void (*trace)(void *arg, const struct profile_trace *trace), void *arg,
		 struct counts_lines **out, struct err *e);

#endif
