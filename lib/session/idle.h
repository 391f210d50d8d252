/*
 * The idle time of each CPU from /proc/stat, in which a sampling clock does not run.
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
	/* In a PID namespace, tasks outside have no pid, like idle tasks: idle time is unknown. */
	bool is_contained;
	uint64_t *last_ns; /* owned; per CPU, cumulative; UINT64_MAX: unknown */
};

/* 0 or -errno; also then idle_fini frees what is owned. */
int idle_init(struct idle *i, const struct counters *counters);
void idle_fini(struct idle *i); /* zeroes are fine */

/* Reads /proc/stat, for idle_since. */
void idle_read(struct idle *i);
/* The idle time of the trace's CPU since the last call; UINT64_MAX: unknown. */
uint64_t idle_since(struct idle *i, uint32_t trace);

#endif
