/*
 * Numbers to names, and names to numbers.
 */
#include "trace/name.h"

#include "base/str.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SUFFIX ".cpuperf"

bool trace_name_format(const char *base, const struct trace_name *n, char *out, size_t size)
{
	int len;

	if (n->trace == TRACE_COMMON)
		len = snprintf(out, size, "%s.common" SUFFIX, base);
	else
		len = snprintf(out, size, "%s.%s%" PRIu32 ".%" PRIu32 SUFFIX, base,
			       n->is_segment ? "s" : "", n->number, n->trace);
	return len >= 0 && (size_t)len < size;
}

static bool parse_number(const char **p, uint32_t *out)
{
	const char *at = *p;
	uint64_t v;

	if (at[0] == '0' && at[1] >= '0' && at[1] <= '9')
		return false;
	if (str_scan_u64(&at, at + strlen(at), &v) || v >= TRACE_COMMON)
		return false;
	*p = at;
	*out = (uint32_t)v;
	return true;
}

bool trace_name_parse(const char *base, const char *name, struct trace_name *out)
{
	size_t len = strlen(base);
	struct trace_name n = {0};
	const char *p = name + len;

	if (strncmp(name, base, len) != 0 || *p++ != '.')
		return false;
	if (strcmp(p, "common" SUFFIX) == 0) {
		*out = (struct trace_name){TRACE_COMMON, TRACE_COMMON, false};
		return true;
	}
	n.is_segment = *p == 's';
	p += n.is_segment;
	if (!parse_number(&p, &n.number) || *p++ != '.' || !parse_number(&p, &n.trace) ||
	    strcmp(p, SUFFIX) != 0)
		return false;
	*out = n;
	return true;
}
