/*
 * Where a CPU is: its package, its NUMA node, the type of its core. What is not told is not known.
 */
#ifndef HOST_TOPOLOGY_H
#define HOST_TOPOLOGY_H

#include "host/host.h"

struct host_place {
	int32_t package, node; /* negative: not known */
	const char *type;      /* the PMU of its core, in the host; NULL: all cores are alike */
};

/* Of each CPU of the set, in order, into cpuset_count places. What cannot be read is not known. 0
 * or -ENOMEM. */
int host_places(const struct host *h, const struct cpuset *cpus, struct host_place *out);

#endif
