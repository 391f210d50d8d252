/*
 * Metrics: numbers that a spec makes of the numbers of its events, such as instructions per cycle.
 * Made when shown, on the cells of one CPU or on totals. Knows nothing of specs and tables.
 */
#ifndef METRIC_METRIC_H
#define METRIC_METRIC_H

#include "metric/cell.h"
#include "metric/expr.h"

/* A number of a spec, as it is written there; text NULL: none is given. */
struct metric_limit {
	const char *text;
	double value;
};

struct metric {
	const char *name, *unit;
	struct expr expr; /* its operands are places of events; it has at least one */
	struct metric_limit warn_below, warn_above;
};

/* Those of a session, in order. Borrowed. */
struct metric_set {
	const struct metric *item;
	size_t nr;
};

/*
 * The cell of a metric from those of the events; span_ns is that of operands without one.
 * - CELL_NONE if all operands are; CELL_NA if one of them has no number, or if there is no finite
 *   result. Counts enter as estimated, shares in percent, values as they are.
 * - Its running share is the smallest of its operands: below 1 it is an estimate. What one operand
 *   had until its CPU went away makes it CELL_OFFLINE.
 * - duration is the longest span of its operands.
 */
void metric_make(const struct metric *m, const struct cell *events, uint64_t span_ns,
		 struct cell *out);

/* What the operands have in these cells. */
enum metric_has {
	METRIC_BLANK, /* they are all blank */
	METRIC_ALL,   /* a number each */
	METRIC_SOME,  /* a number each but those that are blank */
	METRIC_LACKS, /* one should have a number and has none */
};
enum metric_has metric_has(const struct metric *m, const struct cell *events);

/* The next operand of the steps from *i on; *i moves past it. NULL: there is no further one. */
const struct expr_step *metric_operand(const struct metric *m, size_t *i);

#endif
