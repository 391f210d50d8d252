/*
 * The machine: identity, CPUs, PMUs found in sysfs, kernel limits and permissions. Read once,
 * through a path root. Knows nothing of events.
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include "base/cpuset.h"
#include "base/root.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct host_pmu {
	char name[64];      /* as in /sys/bus/event_source/devices */
	uint32_t type;      /* perf_event_attr.type */
	bool is_core;       /* counts what a CPU's core does */
	bool has_cpumask;   /* one of its CPUs stands for several: a package, a core, a cluster */
	struct cpuset cpus; /* core: the CPUs it covers, empty: all; else its cpumask */
};

struct host {
	struct root root;
	char node[65];       /* node name */
	char machine[17];    /* "x86_64", "aarch64" */
	char kernel[128];    /* release */
	char cpu_model[128]; /* "AMD EPYC 7763 …", "ARM implementer 0x41 part 0xd0c" */
	uint8_t boot_id[16]; /* zero if unknown */
	struct cpuset online;
	uint32_t user_hz; /* ticks per second of /proc/stat */
	uint32_t page_bytes;
	int perf_event_paranoid; /* INT_MAX if perf events are not there at all */
	bool nmi_watchdog;       /* it holds a counter of each CPU */
	bool may_perfmon;        /* CAP_PERFMON or CAP_SYS_ADMIN is effective */
	struct host_pmu *pmus;   /* owned; byte order of name */
	size_t nr_pmus;
};

/* Reads the machine below root. 0, or -errno with *e (only what nothing works without: the CPU
 * list, memory; what is merely unknown is left empty). */
int host_load(const struct root *root, struct host *out, struct err *e);
void host_fini(struct host *h);

/* The PMU of that name, or NULL. */
const struct host_pmu *host_find_pmu(const struct host *h, const char *name);
/* The kernel's limit of samples per second and CPU, which it lowers by itself: as it is now. 0 if
 * it is not known. */
uint64_t host_max_sample_rate(const struct host *h);
/* True if some PMU counts core events on the CPU (any CPU: cpu < 0). */
bool host_has_core_pmu(const struct host *h, int cpu);
/* True if whole CPUs may be measured: perf_allow_cpu() in kernel/events/core.c. */
bool host_may_measure_cpus(const struct host *h);
/* True if the kernel's side may be counted too: perf_allow_kernel(). */
bool host_may_measure_kernel(const struct host *h);

#endif
