/*
 * Where a CPU is: its package, its NUMA node, its core type.
 */
#ifndef HOST_TOPOLOGY_H
#define HOST_TOPOLOGY_H

#include "host/host.h"

struct host_place {
	int32_t package, node; /* -1: unknown */
	const char *type; /* name of the PMU of its core type, borrowed from the host; NULL: all
			     cores are alike */
};

/* Fills out with one place per CPU of the set, in order; unknown fields are -1 or NULL. 0 or
 * -ENOMEM. */
int host_places(const struct host *h, const struct cpuset *cpus, struct host_place *out);

#endif
