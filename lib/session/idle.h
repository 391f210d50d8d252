/*
 * How long each CPU slept, by /proc/stat: a clock that samples does not run there.
 */
#ifndef SESSION_IDLE_H
#define SESSION_IDLE_H

#include "event/event.h"

#include <stdbool.h>
#include <stdint.h>

struct collect;
struct counters;

struct idle {
	const struct counters *counters; /* borrowed */
	struct event event;
	struct collect *collect; /* owned */
	/* In a PID namespace the tasks outside have no pid, like the idle ones: not known. */
	bool is_contained;
	uint64_t *last_ns; /* owned; per CPU, cumulative; UINT64_MAX: not known */
};

/* 0 or -errno; also then idle_fini frees what is owned. */
int idle_init(struct idle *i, const struct counters *counters);
void idle_fini(struct idle *i); /* zeroes are fine */

/* Reads /proc/stat, for idle_since. */
void idle_read(struct idle *i);
/* How long the CPU of the trace slept from one call to the next; UINT64_MAX: not known. */
uint64_t idle_since(struct idle *i, uint32_t trace);

#endif
