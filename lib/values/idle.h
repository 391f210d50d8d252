/*
 * The idle time of each CPU from /proc/stat, in which a sampling clock does not run.
 */
#ifndef VALUES_IDLE_H
#define VALUES_IDLE_H

#include "event/event.h"

#include <stdbool.h>
#include <stdint.h>

struct collect;
struct host;

struct idle {
	const struct host *host; /* borrowed */
	struct event event;
	struct collect *collect; /* owned */
	/* In a PID namespace, tasks outside have no pid, like idle tasks: idle time is unknown. */
	bool is_contained;
	uint64_t *last_ns; /* owned; per trace, cumulative; UINT64_MAX: unknown */
};

/* 0 or -errno; also then idle_fini frees what is owned. */
int idle_init(struct idle *i, const struct host *host, uint32_t nr_traces);
void idle_fini(struct idle *i); /* zeroes are fine */

/* Reads /proc/stat, for idle_since. */
void idle_read(struct idle *i);
/* The idle time of the CPU, which has that trace, since the last call; UINT64_MAX: unknown. */
uint64_t idle_since(struct idle *i, uint32_t trace, uint32_t cpu);

#endif
