/*
 * Metrics: numbers that a spec computes from its events, such as instructions per cycle. Computed
 * when shown, from the cells of one CPU or from totals.
 *
 * A total is computed from totals, never from rows; it is n/a where an operand was not measured.
 * The printer reads metrics from the spec that is stored in the trace.
 */
#ifndef ESTIMATE_METRIC_H
#define ESTIMATE_METRIC_H

#include "estimate/cell.h"
#include "estimate/expr.h"
#include "estimate/limit.h"

struct metric {
	const char *name, *unit;
	struct expr expr; /* operands are indices of events; at least one */
	struct metric_limit warn_below, warn_above;
};

/* The metrics of a session, in order. Borrowed. */
struct metric_set {
	const struct metric *item;
	size_t nr;
};

/*
 * Computes the cell of a metric from those of the events; span_ns is for operands without a span.
 * - CELL_NONE if all operands are; CELL_NA if one of them has no number, or if the result is not
 *   finite. Counts are scaled by their running share, shares are in percent.
 * - Its running share is the smallest of its operands: below 1 it is an estimate. An operand whose
 *   CPU went offline makes it CELL_OFFLINE.
 * - duration is the longest span of its operands.
 */
void metric_make(const struct metric *m, const struct cell *events, uint64_t span_ns,
		 struct cell *out);

/* Which operands have a number in these cells. */
enum metric_has {
	METRIC_BLANK, /* all are blank */
	METRIC_ALL,   /* all have a number */
	METRIC_SOME,  /* all that are not blank have a number */
	METRIC_LACKS, /* one that is not blank has none */
};
enum metric_has metric_has(const struct metric *m, const struct cell *events);

/* Returns the next operand from step *i on, and moves *i past it; NULL at the end. */
const struct expr_step *metric_operand(const struct metric *m, size_t *i);

#endif
