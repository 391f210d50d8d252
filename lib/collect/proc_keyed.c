/*
 * Files of named numbers: one parser, a table of the names that are wanted from each.
 */
#include "collect/proc_keyed.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

enum { MAX_KEYS = 8 };

struct keyed {
	uint64_t value[MAX_KEYS];
	uint32_t seen; /* bit i: value[i] was in the text */
};

/* "MemTotal:       24635236 kB" or "pgfault 1234": the number behind name and separators. */
static int parse_line(const char *p, const char *end, const char *const *names, struct keyed *out)
{
	size_t len = 0;

	while (p + len != end && p[len] != ':' && p[len] != ' ')
		len++;
	for (unsigned i = 0; names[i]; i++) {
		if (strlen(names[i]) != len || memcmp(names[i], p, len) != 0)
			continue;
		p += len;
		while (p != end && (*p == ':' || *p == ' '))
			p++;
		out->seen |= 1u << i;
		return str_scan_u64(&p, end, &out->value[i]);
	}
	return 0;
}

static int parse_keyed(const char *text, size_t len, const char *const *names, struct keyed *out)
{
	const char *end = text + len, *line, *stop;
	int rc = 0;

	while (rc == 0 && (line = str_next_line(&text, end, &stop)))
		rc = parse_line(line, stop, names, out);
	return rc;
}

static bool has(const struct keyed *k, uint32_t bits)
{
	return (k->seen & bits) == bits;
}

enum { TOTAL, FREE, BUFFERS, CACHED, AVAILABLE };

static int meminfo_parse(const char *text, size_t len, void *state, uint32_t nr_cpus)
{
	static const char *const names[] = {"MemTotal", "MemFree",      "Buffers",
					    "Cached",   "MemAvailable", NULL};

	(void)nr_cpus;
	return parse_keyed(text, len, names, state);
}

/* As the event's description says; the file is in KiB whatever its "kB" says. */
static bool meminfo_used(const struct keyed *k, uint64_t *kib)
{
	uint64_t left = k->value[TOTAL];

	if (!has(k, 1u << TOTAL | 1u << FREE | 1u << BUFFERS | 1u << CACHED))
		return false;
	for (int i = FREE; i <= CACHED; i++)
		if (__builtin_sub_overflow(left, k->value[i], &left))
			return false;
	*kib = left;
	return true;
}

static bool meminfo_get(const void *state, uint16_t field, uint32_t cpu, struct collect_value *out)
{
	const struct keyed *k = state;
	uint64_t kib = k->value[AVAILABLE];
	bool ok = field == PROC_MEMINFO_USED ? meminfo_used(k, &kib) : has(k, 1u << AVAILABLE);

	(void)cpu;
	*out = (struct collect_value){.raw = kib * 1024};
	return ok && kib <= UINT64_MAX / 1024;
}

const struct collect_source proc_meminfo_source = {
    .path = "/proc/meminfo",
    .state_bytes = sizeof(struct keyed),
    .parse = meminfo_parse,
    .get = meminfo_get,
};

static int vmstat_parse(const char *text, size_t len, void *state, uint32_t nr_cpus)
{
	static const char *const names[] = {"pgfault", NULL};

	(void)nr_cpus;
	return parse_keyed(text, len, names, state);
}

static bool vmstat_get(const void *state, uint16_t field, uint32_t cpu, struct collect_value *out)
{
	const struct keyed *k = state;

	(void)field;
	(void)cpu;
	*out = (struct collect_value){.raw = k->value[0]};
	return has(k, 1u);
}

const struct collect_source proc_vmstat_source = {
    .path = "/proc/vmstat",
    .state_bytes = sizeof(struct keyed),
    .parse = vmstat_parse,
    .get = vmstat_get,
};
