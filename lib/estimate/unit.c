#include "estimate/unit.h"

#include <string.h>

struct unit unit_shown(enum event_kind kind, const char *unit)
{
	if (kind == EVENT_VALUE)
		return (struct unit){1, unit, ""};
	if (kind == EVENT_SHARE)
		return (struct unit){1, "%", ""};
	return strcmp(unit, "ns") == 0 ? (struct unit){1e7, "%", ""} : (struct unit){1, unit, "/s"};
}

bool unit_is_percent(enum event_kind kind, const char *unit)
{
	return strcmp(unit_shown(kind, unit).name, "%") == 0;
}

bool unit_number(enum event_kind kind, const char *unit, const struct cell *c, double *out)
{
	if (!cell_has_value(c) || (kind == EVENT_COUNT && !c->span_ns))
		return false;
	*out = kind == EVENT_COUNT ? cell_rate(c) / unit_shown(kind, unit).divisor : c->value;
	return true;
}
