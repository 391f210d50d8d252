/*
 * The unit in which a number over time is shown, in tables, charts, series and pages alike: a count
 * as a rate per second, a time as a share of the elapsed time, a share or value unchanged. Metrics
 * are values.
 */
#ifndef ESTIMATE_UNIT_H
#define ESTIMATE_UNIT_H

#include "estimate/cell.h"

struct unit {
	double divisor;         /* of a count per second; 1 for shares and values */
	const char *name, *per; /* "B" and "/s", "%" and "", "tasks" and "" */
};

/* unit: the event's; borrowed. */
struct unit unit_shown(enum event_kind kind, const char *unit);
/* Whether that is a percentage. */
bool unit_is_percent(enum event_kind kind, const char *unit);
/* The cell's number in that unit. False if it has none, or is a count over an empty span. */
bool unit_number(enum event_kind kind, const char *unit, const struct cell *c, double *out);

#endif
