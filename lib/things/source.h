/*
 * The interface of a collector, which each pair of files machine_*.{c,h} implements. Parsers
 * receive text and length, and open nothing.
 *
 * A counter that decreases is `failed`, as how much it counted is not known. But times of
 * /proc/stat that decrease (steal, iowait, idle) stand still (hold), so that the base of a share
 * is the time that passed; a note says it once.
 */
#ifndef THINGS_SOURCE_H
#define THINGS_SOURCE_H

#include "event/event.h"

/* A raw value of the text; base as in struct reading. */
struct collect_value {
	uint64_t raw, base;
};

struct collect_source {
	const char *path;
	size_t state_bytes; /* size of the state that parse fills; plus cpu_bytes for each CPU */
	size_t cpu_bytes;
	/* state is zeroed before, with room for CPUs 0 … nr_cpus - 1. 0 or -EINVAL. */
	int (*parse)(const char *text, size_t len, void *state, uint32_t nr_cpus);
	/* Optional, after parse: makes counters that decreased since the text before, of which
	 * before is the state, stand still. The name of one that did; NULL: none did. */
	const char *(*hold)(void *state, const void *before, uint32_t nr_cpus);
	/* False if the text had no such field. cpu is below nr_cpus. */
	bool (*get)(const void *state, uint16_t field, uint32_t cpu, struct collect_value *out);
};

#endif
