/*
 * Package, NUMA node and core type of CPUs, from sysfs.
 */
#include "host/topology.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LIST_BYTES = 1 << 20 };

/* physical_package_id is -1 if unknown. */
static int32_t package_of(const struct host *h, unsigned cpu)
{
	char path[96];
	uint64_t id;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/physical_package_id",
		 cpu);
	return root_load_u64(&h->root, path, &id) || id > INT32_MAX ? -1 : (int32_t)id;
}

/* The PMU of the CPU's core type, on hybrid machines. */
static const char *type_of(const struct host *h, unsigned cpu)
{
	const struct host_pmu *core =
	    ARRAY_FIND(pmu, h->pmus, h->nr_pmus, pmu->is_core && cpuset_has(&pmu->cpus, cpu));

	return core ? core->name : NULL;
}

struct places {
	const struct host *host;
	const struct cpuset *cpus;
	struct host_place *out;
};

static void set_node(const struct places *p, const struct cpuset *on, int32_t node)
{
	size_t i = 0;

	for (int cpu = cpuset_next(p->cpus, 0); cpu >= 0;
	     cpu = cpuset_next(p->cpus, (unsigned)cpu + 1), i++)
		if (cpuset_has(on, (unsigned)cpu))
			p->out[i].node = node;
}

/* Reads a folder "node0" and its cpulist. */
static int read_node(const char *name, void *arg)
{
	const struct places *p = arg;
	struct cpuset on;
	uint64_t node;
	char path[96];
	BUF_AUTO(list, MAX_LIST_BYTES);
	int rc;

	if (strncmp(name, "node", 4) != 0 || str_parse_u64(name + 4, &node) || node > INT32_MAX)
		return 0;
	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", (unsigned)node);
	rc = root_load(&p->host->root, path, &list);
	if (rc == 0 && cpuset_parse(buf_str(&list), list.len, &on) == 0)
		set_node(p, &on, (int32_t)node);
	return rc == -ENOMEM ? rc : 0;
}

int host_places(const struct host *h, const struct cpuset *cpus, struct host_place *out)
{
	const struct places p = {.host = h, .cpus = cpus, .out = out};
	size_t i = 0, same = 0;

	for (int cpu = cpuset_next(cpus, 0); cpu >= 0; cpu = cpuset_next(cpus, (unsigned)cpu + 1))
		out[i++] = (struct host_place){.package = package_of(h, (unsigned)cpu),
					       .node = -1,
					       .type = type_of(h, (unsigned)cpu)};
	while (same < i && out[same].type == out[0].type)
		same++;
	for (size_t k = 0; k < i && same == i; k++) /* one type for all is not reported */
		out[k].type = NULL;
	return root_each(&h->root, "/sys/devices/system/node", read_node, (void *)&p) == -ENOMEM
		   ? -ENOMEM
		   : 0;
}
