/*
 * Which counter the kernel uses for a generic event, by CPU model. Private to generic.c.
 *
 * Facts from Linux 6.12: arch/x86/events/intel/core.c (intel_perfmon_event_map, the tables
 * …_hw_cache_event_ids, and what intel_pmu_init() changes in them), amd/core.c, zhaoxin/core.c,
 * drivers/perf/arm_pmuv3.c; families and models from intel-family.h and cpu/amd.c. Counters have
 * the vendor's names. A code is event | unit mask << 8, on AMD with event bits 8-11 at 32-35; with
 * bit 23 (invert) and a counter mask of 1 in bits 24-31 it counts cycles without such an event.
 */
#ifndef EVENT_GENERIC_CPUS_H
#define EVENT_GENERIC_CPUS_H

#include <stddef.h>
#include <stdint.h>

enum { GENERIC_MAX_IDS = 12 };

enum generic_slot {
	GENERIC_CYCLES,
	GENERIC_INSTRUCTIONS,
	GENERIC_REF_CYCLES,
	GENERIC_CACHE_REFERENCES,
	GENERIC_CACHE_MISSES,
	GENERIC_BRANCHES,
	GENERIC_BRANCH_MISSES,
	GENERIC_FRONTEND,
	GENERIC_BACKEND,
	GENERIC_L1D_LOADS,
	GENERIC_L1D_MISSES,
	GENERIC_L1I_MISSES,
	GENERIC_LL_LOADS,
	GENERIC_LL_MISSES,
	GENERIC_DTLB_LOADS,
	GENERIC_DTLB_MISSES,
	GENERIC_ITLB_LOADS,
	GENERIC_ITLB_MISSES,
	GENERIC_NR_SLOTS
};

/* The generic event of each slot. */
struct generic_event {
	uint32_t type;
	uint64_t config;
};
extern const struct generic_event generic_slots[GENERIC_NR_SLOTS];

struct generic_counter {
	const char *name; /* NULL: as in the base; "": the kernel refuses the event */
	uint64_t code;
	const char *counts; /* NULL: as the event's description */
};

struct generic_map {
	const struct generic_map *base; /* NULL: what is not set is refused */
	struct generic_counter on[GENERIC_NR_SLOTS];
};

struct generic_id {
	uint16_t family;
	uint8_t first, last; /* model numbers */
};

/* A CPU in the kernel's tables. Several rows of the same numbers: the core types of a hybrid CPU.
 */
struct generic_cpu {
	const char *title, *names; /* names: libpfm4's, between spaces */
	const char *vendor;        /* vendor_id of /proc/cpuinfo, between spaces; NULL: ARM */
	const char *pmu;           /* its core PMU; with * a pattern */
	const struct generic_map *map, *otherwise;
	struct generic_id ids[GENERIC_MAX_IDS];
};
extern const struct generic_cpu generic_cpus[];
extern const size_t generic_nr_cpus;

#endif
