/*
 * The machine: identity, CPUs, PMUs in sysfs, kernel limits and permissions. Read once, through a
 * path root.
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
	bool is_core;       /* counts events of CPU cores */
	bool has_cpumask;   /* opened on some CPUs only, each for a package, core or cluster */
	struct cpuset cpus; /* core: the CPUs it covers (empty: all); else its cpumask */
};

/* What would permit this program to measure more than kernel.perf_event_paranoid does. */
enum host_grant {
	HOST_GRANT_FILE,      /* the capability, on the program's file */
	HOST_GRANT_CONTAINER, /* the capability, when the container starts: its bounding set is
				 without */
	HOST_GRANT_NONE,      /* nothing: the kernel ignores capabilities of this user namespace */
};

struct host {
	struct root root;
	char node[65];       /* node name */
	char machine[17];    /* "x86_64", "aarch64" */
	char kernel[128];    /* release */
	char cpu_model[128]; /* "AMD EPYC 7763 …", "ARM implementer 0x41 part 0xd0c" */
	char cpu_vendor[16]; /* x86: "GenuineIntel"; else "" */
	uint32_t cpu_family, cpu_model_nr; /* x86, as in /proc/cpuinfo */
	uint8_t boot_id[16];               /* zero if unknown */
	struct cpuset online;
	uint32_t user_hz; /* ticks per second of /proc/stat */
	uint32_t page_bytes;
	int perf_event_paranoid; /* INT_MAX if the kernel has no perf events */
	bool nmi_watchdog;       /* enabled: it uses a counter of each CPU */
	bool may_perfmon; /* CAP_PERFMON or CAP_SYS_ADMIN is effective, and not of a namespace */
	bool has_cap_perfmon; /* this kernel has CAP_PERFMON (5.8); CAP_SYS_ADMIN is its substitute
			       */
	enum host_grant grant;
	struct host_pmu *pmus; /* owned; sorted by name */
	size_t nr_pmus;
};

/* Reads the machine below root. 0, or -errno with *e if the CPU list or memory is missing; other
 * unknown fields stay empty. */
int host_load(const struct root *root, struct host *out, struct err *e);
void host_fini(struct host *h);

/* True if CAP_SYS_PTRACE is effective. Even then the kernel may refuse: where a process is in
 * another user namespace, or protected by a security module. */
bool host_may_trace(const struct root *root);

/* The PMU of that name, or NULL. */
const struct host_pmu *host_find_pmu(const struct host *h, const char *name);
/* The kernel's current limit of samples per second and CPU, which it lowers under load; 0 if
 * unknown. */
uint64_t host_max_sample_rate(const struct host *h);
/* The addresses of a callchain that the kernel allows at present (kernel.perf_event_max_stack); 0
 * if unknown. */
uint64_t host_max_stack(const struct host *h);
/* True if a PMU counts core events on the CPU (cpu < 0: on any CPU). */
bool host_has_core_pmu(const struct host *h, int cpu);
/* True if this user may measure whole CPUs: perf_allow_cpu() in kernel/events/core.c. */
bool host_may_measure_cpus(const struct host *h);
/* True if this user may count in the kernel: perf_allow_kernel(). */
bool host_may_measure_kernel(const struct host *h);

#endif
