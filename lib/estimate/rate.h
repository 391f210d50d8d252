/*
 * What a number over time is shown as, in tables, charts, series and pages alike: a count is a rate
 * per second, a time is a share of the time that passed, a share or value is what it is. Metrics
 * are values.
 */
#ifndef ESTIMATE_RATE_H
#define ESTIMATE_RATE_H

#include "estimate/cell.h"

struct rate {
	double divisor;         /* of a count per second; 1 for shares and values */
	const char *unit, *per; /* "B" and "/s", "%" and "", "tasks" and "" */
};

/* unit: of the event; borrowed. */
struct rate rate_of(enum event_kind kind, const char *unit);
/* The number of a cell in that unit. False: it has none, or is a count over no time. */
bool rate_number(enum event_kind kind, const char *unit, const struct cell *c, double *out);

#endif
