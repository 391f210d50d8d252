#include "estimate/rate.h"

#include <string.h>

struct rate rate_of(enum event_kind kind, const char *unit)
{
	if (kind == EVENT_VALUE)
		return (struct rate){1, unit, ""};
	if (kind == EVENT_SHARE)
		return (struct rate){1, "%", ""};
	return strcmp(unit, "ns") == 0 ? (struct rate){1e7, "%", ""} : (struct rate){1, unit, "/s"};
}

bool rate_number(enum event_kind kind, const char *unit, const struct cell *c, double *out)
{
	if (!cell_has_value(c) || (kind == EVENT_COUNT && !c->span_ns))
		return false;
	*out = kind == EVENT_COUNT ? cell_rate(c) / rate_of(kind, unit).divisor : c->value;
	return true;
}
