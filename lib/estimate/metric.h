/*
 * Metrics: numbers that a spec computes from its events, such as instructions per cycle. Computed
 * when shown, from the cells of one CPU or from totals. Independent of specs and tables.
 */
#ifndef ESTIMATE_METRIC_H
#define ESTIMATE_METRIC_H

#include "estimate/cell.h"
#include "estimate/expr.h"

/* A number as the spec writes it; text NULL: there is none. */
struct metric_limit {
	const char *text;
	double value;
};

struct metric {
	const char *name, *unit;
	struct expr expr; /* its operands are places of events; it has at least one */
	struct metric_limit warn_below, warn_above;
};

/* The metrics of a session, in order. Borrowed. */
struct metric_set {
	const struct metric *item;
	size_t nr;
};

/*
 * The cell of a metric from those of the events; span_ns is that of operands without one.
 * - CELL_NONE if all operands are; CELL_NA if one of them has no number, or if there is no finite
 *   result. Counts enter as estimated, shares in percent, values as they are.
 * - Its running share is the smallest of its operands: below 1 it is an estimate. An operand whose
 * CPU went offline makes it CELL_OFFLINE.
 * - duration is the longest span of its operands.
 */
void metric_make(const struct metric *m, const struct cell *events, uint64_t span_ns,
		 struct cell *out);

/* What the operands hold in these cells. */
enum metric_has {
	METRIC_BLANK, /* they are all blank */
	METRIC_ALL,   /* a number each */
	METRIC_SOME,  /* those that are not blank hold a number */
	METRIC_LACKS, /* one should hold a number and does not */
};
enum metric_has metric_has(const struct metric *m, const struct cell *events);

/* The next operand of the steps from *i on; moves *i past it. NULL: no more. */
const struct expr_step *metric_operand(const struct metric *m, size_t *i);

#endif
