/*
 * CPU sets and the kernel's list format.
 */
#include "base/cpuset.h"

#include "base/buf.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

void cpuset_clear(struct cpuset *s)
{
	memset(s, 0, sizeof(*s));
}

void cpuset_add(struct cpuset *s, unsigned cpu)
{
	if (cpu < CPUSET_MAX_CPU)
		s->bits[cpu / 64] |= 1ull << cpu % 64;
}

bool cpuset_has(const struct cpuset *s, unsigned cpu)
{
	return cpu < CPUSET_MAX_CPU && (s->bits[cpu / 64] >> cpu % 64 & 1);
}

size_t cpuset_count(const struct cpuset *s)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(s->bits) / sizeof(s->bits[0]); i++)
		n += (size_t)__builtin_popcountll(s->bits[i]);
	return n;
}

int cpuset_next(const struct cpuset *s, unsigned from)
{
	for (; from < CPUSET_MAX_CPU; from = (from / 64 + 1) * 64) {
		uint64_t word = s->bits[from / 64] >> from % 64;

		if (word)
			return (int)from + __builtin_ctzll(word);
	}
	return -1;
}

static int parse_range(const char **p, const char *end, struct cpuset *set)
{
	uint64_t first, last;
	int rc = str_scan_u64(p, end, &first);

	last = first;
	if (rc == 0 && *p != end && **p == '-') {
		++*p;
		rc = str_scan_u64(p, end, &last);
	}
	if (rc)
		return rc;
	if (last < first)
		return -EINVAL;
	if (last >= CPUSET_MAX_CPU)
		return -ERANGE;
	for (uint64_t cpu = first; cpu <= last; cpu++)
		cpuset_add(set, (unsigned)cpu);
	return 0;
}

int cpuset_parse(const char *text, size_t len, struct cpuset *out)
{
	const char *p = text, *end = text + len;
	struct cpuset set;

	cpuset_clear(&set);
	if (len && end[-1] == '\n')
		end--;
	while (p != end) {
		int rc = parse_range(&p, end, &set);

		if (rc)
			return rc;
		if (p != end && (*p++ != ',' || p == end))
			return -EINVAL;
	}
	*out = set;
	return 0;
}

void cpuset_format(const struct cpuset *s, struct buf *out)
{
	const char *comma = "";

	for (int first = cpuset_next(s, 0), last; first >= 0;
	     first = cpuset_next(s, (unsigned)last + 1)) {
		for (last = first; cpuset_has(s, (unsigned)last + 1);)
			last++;
		buf_printf(out, "%s%d", comma, first);
		if (last > first)
			buf_printf(out, "-%d", last);
		comma = ",";
	}
}
