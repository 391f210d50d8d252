/*
 * What the kernel counts for a generic event, by CPU model.
 *
 * Facts from Linux 6.12: arch/x86/events/intel/core.c (intel_perfmon_event_map, the tables
 * …_hw_cache_event_ids, and what intel_pmu_init() changes in them), amd/core.c, zhaoxin/core.c,
 * drivers/perf/arm_pmuv3.c; families and models from intel-family.h and cpu/amd.c. Counters have
 * the vendor's names. A code is event | unit mask << 8, on AMD with event bits 8-11 at 32-35; with
 * bit 23 (invert) and a counter mask of 1 in bits 24-31 it counts cycles without such an event.
 */
#include "event/generic.h"

#include "base/buf.h"
#include "base/perf_abi.h"
#include "base/str.h"
#include "event/model.h"
#include "event/parts.h"
#include "event/sysfs.h"
#include "host/host.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NR(a) (sizeof(a) / sizeof((a)[0]))

enum { MAX_IDS = 12, MAX_NAME_BYTES = 64 };

enum slot {
	CYCLES,
	INSTRUCTIONS,
	REF_CYCLES,
	CACHE_REFERENCES,
	CACHE_MISSES,
	BRANCHES,
	BRANCH_MISSES,
	FRONTEND,
	BACKEND,
	L1D_LOADS,
	L1D_MISSES,
	L1I_MISSES,
	LL_LOADS,
	LL_MISSES,
	DTLB_LOADS,
	DTLB_MISSES,
	ITLB_LOADS,
	ITLB_MISSES,
	NR_SLOTS
};

#define CACHE(cache, result)                                                                       \
	PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_READ << 8 |       \
				PERF_COUNT_HW_CACHE_RESULT_##result << 16

static const struct {
	uint32_t type;
	uint64_t config;
} slots[NR_SLOTS] = {
    [CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    [INSTRUCTIONS] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    [REF_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    [CACHE_REFERENCES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    [CACHE_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    [BRANCHES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    [BRANCH_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    [FRONTEND] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    [BACKEND] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    [L1D_LOADS] = {CACHE(L1D, ACCESS)},
    [L1D_MISSES] = {CACHE(L1D, MISS)},
    [L1I_MISSES] = {CACHE(L1I, MISS)},
    [LL_LOADS] = {CACHE(LL, ACCESS)},
    [LL_MISSES] = {CACHE(LL, MISS)},
    [DTLB_LOADS] = {CACHE(DTLB, ACCESS)},
    [DTLB_MISSES] = {CACHE(DTLB, MISS)},
    [ITLB_LOADS] = {CACHE(ITLB, ACCESS)},
    [ITLB_MISSES] = {CACHE(ITLB, MISS)},
};

struct counter {
	const char *name; /* NULL: as in the base; "": the kernel refuses the event */
	uint64_t code;
	const char *counts; /* NULL: what the event's description says */
};

struct map {
	const struct map *base; /* NULL: what is not set is refused */
	struct counter on[NR_SLOTS];
};

/* clang-format off */
#define NONE {"", 0, NULL}

#define LOADS_RETIRED "loads retired"
#define LINES_IN      "lines brought into the cache"
#define L1D_READS     "loads of the level 1 data cache"
#define INSTRUCTIONS_NOT_LOOKUPS "instructions retired, not lookups"
#define WALKS_CAUSED  "page walks begun, completed or not"
#define WALKS         "page walks completed"
#define L2_HITS       "lookups that missed the first level and hit the second"
#define STALLED(what) "cycles in which no operation was " what

static const struct map intel = {NULL, {
    [CYCLES] = {"CPU_CLK_UNHALTED.THREAD", 0x003c, "on fixed counter 1 while it is free"},
    [INSTRUCTIONS] = {"INST_RETIRED.ANY", 0x00c0, "on fixed counter 0 while it is free"},
    [REF_CYCLES] = {"CPU_CLK_UNHALTED.REF_TSC", 0x0300, "on fixed counter 2"},
    [CACHE_REFERENCES] = {"LONGEST_LAT_CACHE.REFERENCE", 0x4f2e, NULL},
    [CACHE_MISSES] = {"LONGEST_LAT_CACHE.MISS", 0x412e, NULL},
    [BRANCHES] = {"BR_INST_RETIRED.ALL_BRANCHES", 0x00c4, NULL},
    [BRANCH_MISSES] = {"BR_MISP_RETIRED.ALL_BRANCHES", 0x00c5, NULL},
}};

static const struct map core2 = {&intel, {
    [L1D_LOADS] = {"L1D_CACHE_LD.MESI", 0x0f40, NULL},
    [L1D_MISSES] = {"L1D_CACHE_LD.I_STATE", 0x0140, NULL},
    [L1I_MISSES] = {"L1I_MISSES", 0x0081, NULL},
    [LL_LOADS] = {"L2_LD.MESI", 0x4f29, "loads of the level 2 cache"},
    [LL_MISSES] = {"L2_LD.I_STATE", 0x4129, "loads that missed the level 2 cache"},
    [DTLB_LOADS] = {"L1D_CACHE_LD.MESI", 0x0f40, L1D_READS},
    [DTLB_MISSES] = {"DTLB_MISSES.MISS_LD", 0x0208, NULL},
    [ITLB_LOADS] = {"INST_RETIRED.ANY_P", 0x00c0, INSTRUCTIONS_NOT_LOOKUPS},
    [ITLB_MISSES] = {"ITLB.MISSES", 0x1282, NULL},
}};

#define OFFCORE(code, reads)                                                                       \
    [LL_LOADS] = {"OFFCORE_RESPONSE", code, reads " that left the core"},                          \
    [LL_MISSES] = {"OFFCORE_RESPONSE", code, reads " that missed the last level cache"}

static const struct map nehalem = {&intel, {
    [BRANCH_MISSES] = {"BR_MISP_RETIRED.ALL_BRANCHES", 0x00c5,
                       "with erratum AAJ80 BR_MISP_EXEC.ANY (0x7f89), speculative ones too"},
    [FRONTEND] = {"UOPS_ISSUED.ANY", 0x0180010e, STALLED("issued")},
    [BACKEND] = {"UOPS_EXECUTED.CORE_ACTIVE_CYCLES", 0x01803fb1, STALLED("executed")},
    [L1D_LOADS] = {"MEM_INST_RETIRED.LOADS", 0x010b, LOADS_RETIRED},
    [L1D_MISSES] = {"L1D.REPL", 0x0151, LINES_IN},
    [L1I_MISSES] = {"L1I.MISSES", 0x0280, NULL},
    OFFCORE(0x01b7, "demand data reads"),
    [DTLB_LOADS] = {"L1D_CACHE_LD.MESI", 0x0f40, L1D_READS},
    [DTLB_MISSES] = {"DTLB_LOAD_MISSES.ANY", 0x0108, NULL},
    [ITLB_LOADS] = {"INST_RETIRED.ANY_P", 0x01c0, INSTRUCTIONS_NOT_LOOKUPS},
    [ITLB_MISSES] = {"ITLB_MISS_RETIRED", 0x20c8, "instructions retired that missed"},
}};

static const struct map westmere = {&nehalem, {
    [BRANCH_MISSES] = {"BR_MISP_RETIRED.ALL_BRANCHES", 0x00c5, NULL},
    [DTLB_LOADS] = {"MEM_INST_RETIRED.LOADS", 0x010b, LOADS_RETIRED},
    [ITLB_MISSES] = {"ITLB_MISSES.ANY", 0x0185, NULL},
}};

static const struct map sandy_bridge = {&intel, {
    [FRONTEND] = {"UOPS_ISSUED.ANY", 0x0180010e, STALLED("issued")},
    [BACKEND] = {"UOPS_DISPATCHED.THREAD", 0x018001b1, STALLED("dispatched")},
    [L1D_LOADS] = {"MEM_UOPS_RETIRED.LOADS", 0xf1d0, LOADS_RETIRED},
    [L1D_MISSES] = {"L1D.REPLACEMENT", 0x0151, LINES_IN},
    [L1I_MISSES] = {"ICACHE.MISSES", 0x0280, NULL},
    OFFCORE(0x01b7, "data reads, on demand and prefetched into the last level cache,"),
    [DTLB_LOADS] = {"MEM_UOPS_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [DTLB_MISSES] = {"DTLB_LOAD_MISSES.MISS_CAUSES_A_WALK", 0x0108, WALKS_CAUSED},
    [ITLB_LOADS] = {"ITLB_MISSES.STLB_HIT", 0x1085, L2_HITS},
    [ITLB_MISSES] = {"ITLB_MISSES.MISS_CAUSES_A_WALK", 0x0185, WALKS_CAUSED},
}};

static const struct map ivy_bridge = {&sandy_bridge, {
    [BACKEND] = NONE,
    [DTLB_MISSES] = {"DTLB_LOAD_MISSES.DEMAND_LD_MISS_CAUSES_A_WALK", 0x8108, WALKS_CAUSED},
}};

static const struct map haswell = {&intel, {
    [L1D_LOADS] = {"MEM_UOPS_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [L1D_MISSES] = {"L1D.REPLACEMENT", 0x0151, LINES_IN},
    [L1I_MISSES] = {"ICACHE.MISSES", 0x0280, NULL},
    OFFCORE(0x01b7, "demand data reads"),
    [DTLB_LOADS] = {"MEM_UOPS_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [DTLB_MISSES] = {"DTLB_LOAD_MISSES.MISS_CAUSES_A_WALK", 0x0108, WALKS_CAUSED},
    [ITLB_LOADS] = {"ITLB_MISSES.STLB_HIT", 0x6085, L2_HITS},
    [ITLB_MISSES] = {"ITLB_MISSES.MISS_CAUSES_A_WALK", 0x0185, WALKS_CAUSED},
}};

static const struct map skylake = {&haswell, {
    [L1D_LOADS] = {"MEM_INST_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [L1I_MISSES] = {"ICACHE_64B.MISS", 0x0283, NULL},
    [DTLB_LOADS] = {"MEM_INST_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [DTLB_MISSES] = {"DTLB_LOAD_MISSES.WALK_COMPLETED", 0x0e08, WALKS},
    [ITLB_LOADS] = {"ITLB_MISSES.STLB_HIT", 0x2085, L2_HITS},
    [ITLB_MISSES] = {"ITLB_MISSES.WALK_COMPLETED", 0x0e85, WALKS},
}};

static const struct map ice_lake = {&skylake, {
    [ITLB_LOADS] = NONE,
}};

#define REF_TSC                                                                                    \
    [REF_CYCLES] = {"CPU_CLK_UNHALTED.REF_TSC", 0x0300, "0x013c where CPUID reports that event"}

static const struct map golden_cove = {&intel, {
    REF_TSC,
    [L1D_LOADS] = {"MEM_INST_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [L1D_MISSES] = {"L2_RQSTS.ALL_DEMAND_DATA_RD", 0xe124, "demand data reads sent to level 2"},
    [L1I_MISSES] = {"L2_RQSTS.ALL_CODE_RD", 0xe424, "code reads sent to level 2"},
    OFFCORE(0x012a, "demand data reads"),
    [DTLB_LOADS] = {"MEM_INST_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [DTLB_MISSES] = {"DTLB_LOAD_MISSES.WALK_COMPLETED", 0x0e12, WALKS},
    [ITLB_MISSES] = {"ITLB_MISSES.WALK_COMPLETED", 0x0e11, WALKS},
}};

static const struct map bonnell = {&intel, {
    [L1D_LOADS] = {"L1D_CACHE.LD", 0x2140, NULL},
    [L1I_MISSES] = {"ICACHE.MISSES", 0x0280, NULL},
    [LL_LOADS] = {"L2_LD.MESI", 0x4f29, "loads of the level 2 cache"},
    [LL_MISSES] = {"L2_LD.I_STATE", 0x4129, "loads that missed the level 2 cache"},
    [DTLB_LOADS] = {"L1D_CACHE.LD", 0x2140, L1D_READS},
    [DTLB_MISSES] = {"DATA_TLB_MISSES.DTLB_MISS_LD", 0x0508, NULL},
    [ITLB_LOADS] = {"INST_RETIRED.ANY_P", 0x00c0, INSTRUCTIONS_NOT_LOOKUPS},
    [ITLB_MISSES] = {"ITLB.MISSES", 0x0282, NULL},
}};

static const struct map silvermont = {&intel, {
    [L1D_MISSES] = {"MEM_UOPS_RETIRED.L1_MISS_LOADS", 0x0104, NULL},
    [L1I_MISSES] = {"ICACHE.MISSES", 0x0280, NULL},
    [LL_LOADS] = {"OFFCORE_RESPONSE", 0x01b7, "demand data reads that left the core"},
    [DTLB_MISSES] = {"MEM_UOPS_RETIRED.DTLB_MISS_LOADS", 0x0804, NULL},
    [ITLB_LOADS] = {"INST_RETIRED.ANY_P", 0x00c0, INSTRUCTIONS_NOT_LOOKUPS},
    [ITLB_MISSES] = {"PAGE_WALKS.I_SIDE_WALKS", 0x40205, "page walks"},
}};

static const struct map goldmont = {&intel, {
    [L1D_LOADS] = {"MEM_UOPS_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [L1I_MISSES] = {"ICACHE.MISSES", 0x0280, NULL},
    OFFCORE(0x01b7, "demand data reads"),
    [DTLB_LOADS] = {"MEM_UOPS_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [ITLB_LOADS] = {"INST_RETIRED.ANY_P", 0x00c0, INSTRUCTIONS_NOT_LOOKUPS},
    [ITLB_MISSES] = {"ITLB.MISS", 0x0481, NULL},
}};

static const struct map goldmont_plus = {&goldmont, {
    [DTLB_MISSES] = {"DTLB_LOAD_MISSES.WALK_COMPLETED", 0x0e08, WALKS},
}};

static const struct map tremont = {&goldmont_plus, {
    [ITLB_LOADS] = NONE,
}};

static const struct map gracemont = {&tremont, {REF_TSC}};

static const struct map amd = {NULL, {
    [CYCLES] = {"CYCLES_NOT_IN_HALT", 0x0076, NULL},
    [INSTRUCTIONS] = {"RETIRED_INSTRUCTIONS", 0x00c0, NULL},
    [CACHE_REFERENCES] = {"REQUESTS_TO_L2", 0x077d, "requests to the level 2 cache"},
    [CACHE_MISSES] = {"L2_CACHE_MISS", 0x077e, "misses of the level 2 cache"},
    [BRANCHES] = {"RETIRED_BRANCH_INSTRUCTIONS", 0x00c2, NULL},
    [BRANCH_MISSES] = {"RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS", 0x00c3, NULL},
    [FRONTEND] = {"DECODER_EMPTY", 0x00d0, "cycles in which the decoder had nothing"},
    [BACKEND] = {"DISPATCH_STALLS", 0x00d1, "cycles in which dispatch was stalled"},
    [L1D_LOADS] = {"DATA_CACHE_ACCESSES", 0x0040, "loads and stores"},
    [L1D_MISSES] = {"DATA_CACHE_MISSES", 0x0141, "misses of loads and stores"},
    [L1I_MISSES] = {"INSTRUCTION_CACHE_MISSES", 0x0081, NULL},
    [LL_LOADS] = {"REQUESTS_TO_L2", 0x037d, "requests to the level 2 cache, for data and code"},
    [LL_MISSES] = {"L2_CACHE_MISS", 0x037e, "misses of the level 2 cache, for data and code"},
    [DTLB_LOADS] = {"DATA_CACHE_ACCESSES", 0x0040, "loads and stores"},
    [DTLB_MISSES] = {"L1_DTLB_AND_L2_DTLB_MISS", 0x0746, "misses of both levels"},
    [ITLB_LOADS] = {"INSTRUCTION_CACHE_FETCHES", 0x0080, "fetches from the instruction cache"},
    [ITLB_MISSES] = {"L1_ITLB_MISS_AND_L2_ITLB_MISS", 0x0385, "misses of both levels"},
}};

/* Family 18h has Zen's cache events with the hardware events of the families before. */
static const struct map dhyana = {&amd, {
    [L1D_MISSES] = {"L2_REQUEST_G1", 0xc860, "requests of the data cache to level 2"},
    [LL_LOADS] = NONE,
    [LL_MISSES] = NONE,
    [DTLB_LOADS] = {"L1_DTLB_MISS", 0xff45, "misses of the first level, looked up in the second"},
    [DTLB_MISSES] = {"L1_DTLB_MISS", 0xf045, "misses of both levels"},
    [ITLB_LOADS] = {"L1_ITLB_MISS_L2_ITLB_HIT", 0x0084, L2_HITS},
    [ITLB_MISSES] = {"L1_ITLB_MISS_L2_ITLB_MISS", 0xff85, "misses of both levels"},
}};

static const struct map zen1 = {&dhyana, {
    [CACHE_REFERENCES] = {"L2_REQUEST_G1", 0xff60, "requests to the level 2 cache"},
    [CACHE_MISSES] = {"CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS", 0x0964,
                      "misses of the level 2 cache, for data and code"},
    [FRONTEND] = {"INSTRUCTION_PIPE_STALL", 0x0287, "cycles in which fetch had nothing to deliver"},
    [BACKEND] = {"INSTRUCTION_PIPE_STALL", 0x0187, "cycles in which fetch was held up by the rest"},
}};

static const struct map zen2 = {&zen1, {
    [FRONTEND] = {"MICRO_OP_QUEUE_EMPTY", 0x00a9, "cycles in which the queue was empty"},
    [BACKEND] = NONE,
}};

static const struct map zen4 = {&zen2, {
    [REF_CYCLES] = {"P0_FREQ_CYCLES_NOT_IN_HALT", 0x100000120, "from Linux 6.9"},
}};

static const struct map zxc = {NULL, {
    [CYCLES] = {"event", 0x0082, NULL},
}};

static const struct map zxd = {&zxc, {
    [INSTRUCTIONS] = {"event", 0x00c0, NULL},
    [CACHE_REFERENCES] = {"event", 0x0515, NULL},
    [CACHE_MISSES] = {"event", 0x051a, NULL},
    [BRANCHES] = {"event", 0x0700, NULL},
    [BRANCH_MISSES] = {"event", 0x0709, NULL},
    [FRONTEND] = {"event", 0x01800101, NULL},
    [BACKEND] = {"event", 0x040f, NULL},
    [L1D_LOADS] = {"event", 0x0042, NULL},
    [L1D_MISSES] = {"event", 0x0538, NULL},
    [L1I_MISSES] = {"event", 0x0301, NULL},
    [DTLB_LOADS] = {"event", 0x0042, "the event of level 1 data cache loads"},
    [DTLB_MISSES] = {"event", 0x052c, NULL},
    [ITLB_LOADS] = {"event", 0x00c0, INSTRUCTIONS_NOT_LOOKUPS},
    [ITLB_MISSES] = {"event", 0x0534, NULL},
}};

static const struct map zxe = {&zxd, {
    [BRANCHES] = {"event", 0x0028, NULL},
    [BRANCH_MISSES] = {"event", 0x0029, NULL},
    [L1D_LOADS] = {"event", 0x0568, NULL},
    [L1D_MISSES] = {"event", 0x054b, NULL},
    [DTLB_LOADS] = {"event", 0x0568, "the event of level 1 data cache loads"},
}};

#define STORES_TOO "stores too, on most cores"

/* The kernel uses an event only where the core implements it. */
static const struct map pmuv3 = {NULL, {
    [CYCLES] = {"CPU_CYCLES", 0x11, NULL},
    [INSTRUCTIONS] = {"INST_RETIRED", 0x08, NULL},
    [CACHE_REFERENCES] = {"L1D_CACHE", 0x04, "accesses to the level 1 data cache"},
    [CACHE_MISSES] = {"L1D_CACHE_REFILL", 0x03, "refills of the level 1 data cache"},
    [BRANCHES] = {"BR_RETIRED", 0x21,
                  "before Linux 6.12 PC_WRITE_RETIRED (0x000c), taken branches only, if implemented"},
    [BRANCH_MISSES] = {"BR_MIS_PRED", 0x10, "speculative ones too"},
    [FRONTEND] = {"STALL_FRONTEND", 0x23, NULL},
    [BACKEND] = {"STALL_BACKEND", 0x24, NULL},
    [L1D_LOADS] = {"L1D_CACHE", 0x04, STORES_TOO},
    [L1D_MISSES] = {"L1D_CACHE_REFILL", 0x03, STORES_TOO},
    [L1I_MISSES] = {"L1I_CACHE_REFILL", 0x01, NULL},
    [LL_LOADS] = {"LL_CACHE_RD", 0x36, NULL},
    [LL_MISSES] = {"LL_CACHE_MISS_RD", 0x37, NULL},
    [DTLB_LOADS] = {"L1D_TLB", 0x25, STORES_TOO},
    [DTLB_MISSES] = {"L1D_TLB_REFILL", 0x05, STORES_TOO},
    [ITLB_LOADS] = {"L1I_TLB", 0x26, NULL},
    [ITLB_MISSES] = {"L1I_TLB_REFILL", 0x02, NULL},
}};

/* What the kernel uses where the core does not implement the event above. */
static const struct map pmuv3_else = {NULL, {
    [BRANCHES] = {"PC_WRITE_RETIRED", 0x0c, "taken branches only"},
}};

static const struct map a57_else = {&pmuv3_else, {
    [L1D_LOADS] = {"L1D_CACHE_RD", 0x40, NULL},
    [L1D_MISSES] = {"L1D_CACHE_REFILL_RD", 0x42, NULL},
    [DTLB_MISSES] = {"L1D_TLB_REFILL_RD", 0x4c, NULL},
}};

static const struct map a73_else = {&pmuv3_else, {
    [L1D_LOADS] = {"L1D_CACHE_RD", 0x40, NULL},
}};

static const struct map thunder_else = {&a57_else, {
    [DTLB_LOADS] = {"L1D_TLB_RD", 0x4e, NULL},
}};

struct id {
	uint16_t family;
	uint8_t first, last; /* model numbers */
};

#define ALL(family) {family, 0, 0xff}
#define ONE(model) {6, model, model}

/* A CPU in the kernel's tables. Several rows of the same numbers: the core types of a hybrid CPU. */
static const struct cpu {
	const char *title, *names; /* names: libpfm4's, between spaces */
	const char *vendor;        /* vendor_id of /proc/cpuinfo, between spaces; NULL: ARM */
	const char *pmu;           /* its core PMU; with * a pattern */
	const struct map *map, *otherwise;
	struct id ids[MAX_IDS];
} cpus[] = {
    {"Core 2", "core", "GenuineIntel", "cpu", &core2, NULL,
     {ONE(0x0f), ONE(0x16), ONE(0x17), ONE(0x1d)}},
    {"Nehalem", "nhm nhm_ex", "GenuineIntel", "cpu", &nehalem, NULL,
     {ONE(0x1e), ONE(0x1a), ONE(0x2e)}},
    {"Westmere", "wsm wsm_dp", "GenuineIntel", "cpu", &westmere, NULL,
     {ONE(0x25), ONE(0x2c), ONE(0x2f)}},
    {"Sandy Bridge", "snb snb_ep", "GenuineIntel", "cpu", &sandy_bridge, NULL,
     {ONE(0x2a), ONE(0x2d)}},
    {"Ivy Bridge", "ivb ivb_ep", "GenuineIntel", "cpu", &ivy_bridge, NULL,
     {ONE(0x3a), ONE(0x3e)}},
    {"Haswell", "hsw hsw_ep", "GenuineIntel", "cpu", &haswell, NULL,
     {ONE(0x3c), ONE(0x3f), ONE(0x45), ONE(0x46)}},
    {"Broadwell", "bdw bdw_ep", "GenuineIntel", "cpu", &haswell, NULL,
     {ONE(0x3d), ONE(0x47), ONE(0x4f), ONE(0x56)}},
    {"Skylake to Comet Lake", "skl skx clx", "GenuineIntel", "cpu", &skylake, NULL,
     {ONE(0x4e), ONE(0x5e), ONE(0x55), ONE(0x8e), ONE(0x9e), ONE(0xa5), ONE(0xa6)}},
    {"Ice Lake to Rocket Lake", "icl icx", "GenuineIntel", "cpu", &ice_lake, NULL,
     {ONE(0x6a), ONE(0x6c), ONE(0x7d), ONE(0x7e), ONE(0x8c), ONE(0x8d), ONE(0xa7)}},
    {"Sapphire Rapids, Emerald Rapids", "spr emr", "GenuineIntel", "cpu", &golden_cove, NULL,
     {ONE(0x8f), ONE(0xcf)}},
    {"Granite Rapids", "gnr", "GenuineIntel", "cpu", &golden_cove, NULL, {ONE(0xad), ONE(0xae)}},
#define ALDER_LAKE {ONE(0x97), ONE(0x9a), ONE(0xb7), ONE(0xba), ONE(0xbf)}
    {"P-cores of Alder Lake and Raptor Lake", "adl_glc", "GenuineIntel", "cpu_core",
     &golden_cove, NULL, ALDER_LAKE},
    {"E-cores of Alder Lake and Raptor Lake", "adl_grt", "GenuineIntel", "cpu_atom",
     &gracemont, NULL, ALDER_LAKE},
#define METEOR_LAKE {ONE(0xac), ONE(0xaa), ONE(0xb5)}
    {"P-cores of Meteor Lake", "", "GenuineIntel", "cpu_core", &golden_cove, NULL, METEOR_LAKE},
    {"E-cores of Meteor Lake", "", "GenuineIntel", "cpu_atom", &gracemont, NULL, METEOR_LAKE},
#define LUNAR_LAKE {ONE(0xbd), ONE(0xc6)}
    {"P-cores of Lunar Lake and Arrow Lake", "", "GenuineIntel", "cpu_core",
     &golden_cove, NULL, LUNAR_LAKE},
    {"E-cores of Lunar Lake and Arrow Lake", "", "GenuineIntel", "cpu_atom",
     &gracemont, NULL, LUNAR_LAKE},
    {"Bonnell, Saltwell", "atom", "GenuineIntel", "cpu", &bonnell, NULL,
     {ONE(0x1c), ONE(0x26), ONE(0x36), ONE(0x27), ONE(0x35)}},
    {"Silvermont, Airmont", "slm", "GenuineIntel", "cpu", &silvermont, NULL,
     {ONE(0x37), ONE(0x4d), ONE(0x4a), ONE(0x4c), ONE(0x5a)}},
    {"Knights Landing, Knights Mill", "knl knm", "GenuineIntel", "cpu", &silvermont, NULL,
     {ONE(0x57), ONE(0x85)}},
    {"Goldmont", "glm", "GenuineIntel", "cpu", &goldmont, NULL, {ONE(0x5c), ONE(0x5f)}},
    {"Goldmont Plus", "", "GenuineIntel", "cpu", &goldmont_plus, NULL, {ONE(0x7a)}},
    {"Tremont", "tmt", "GenuineIntel", "cpu", &tremont, NULL,
     {ONE(0x86), ONE(0x96), ONE(0x9c)}},
    {"Gracemont", "", "GenuineIntel", "cpu", &gracemont, NULL, {ONE(0xbe)}},
    {"Sierra Forest, Grand Ridge", "srf", "GenuineIntel", "cpu", &gracemont, NULL,
     {ONE(0xaf), ONE(0xb6)}},
    {"AMD before Zen",
     "amd64_k7 amd64_k8_revb amd64_k8_revc amd64_k8_revd amd64_k8_reve amd64_k8_revf amd64_k8_revg "
     "amd64_fam10h_barcelona amd64_fam10h_shanghai amd64_fam10h_istanbul amd64_fam11h_turion "
     "amd64_fam12h_llano amd64_fam14h_bobcat amd64_fam15h_interlagos amd64_fam16h",
     "AuthenticAMD", "cpu", &amd, NULL,
     {ALL(6), ALL(0xf), ALL(0x10), ALL(0x11), ALL(0x12), ALL(0x14), ALL(0x15), ALL(0x16)}},
    {"Zen 1", "amd64_fam17h amd64_fam17h_zen1", "AuthenticAMD", "cpu", &zen1, NULL,
     {{0x17, 0x00, 0x2f}, {0x17, 0x50, 0x5f}}},
    {"Zen 2", "amd64_fam17h_zen2", "AuthenticAMD", "cpu", &zen2, NULL,
     {{0x17, 0x30, 0x4f}, {0x17, 0x60, 0x7f}, {0x17, 0x90, 0x91}, {0x17, 0xa0, 0xaf}}},
    {"Zen 3", "amd64_fam19h_zen3", "AuthenticAMD", "cpu", &zen2, NULL,
     {{0x19, 0x00, 0x0f}, {0x19, 0x20, 0x5f}}},
    {"Zen 4", "amd64_fam19h_zen4", "AuthenticAMD", "cpu", &zen4, NULL,
     {{0x19, 0x10, 0x1f}, {0x19, 0x60, 0xaf}}},
    {"Zen 5", "amd64_fam1ah_zen5", "AuthenticAMD", "cpu", &zen4, NULL,
     {{0x1a, 0x00, 0x2f}, {0x1a, 0x40, 0x4f}, {0x1a, 0x60, 0x7f}, {0x1a, 0xd0, 0xd7}}},
    {"Hygon Dhyana", "", "HygonGenuine", "cpu", &dhyana, NULL, {ALL(0x18)}},
    {"Zhaoxin ZX-C", "", "Shanghai CentaurHauls", "cpu", &zxc, NULL, {ONE(0x19)}},
    {"Zhaoxin ZX-D", "", "Shanghai CentaurHauls", "cpu", &zxd, NULL, {{7, 0x1b, 0x1b}}},
    {"Zhaoxin ZX-E", "", "Shanghai CentaurHauls", "cpu", &zxe, NULL, {{7, 0x3b, 0x3b}}},
    {"Cortex-A57", "arm_ac57", NULL, "armv8_cortex_a57", &pmuv3, &a57_else, {{0, 0, 0}}},
    {"Cortex-A72", "arm_ac72", NULL, "armv8_cortex_a72", &pmuv3, &a57_else, {{0, 0, 0}}},
    {"Cortex-A73", "", NULL, "armv8_cortex_a73", &pmuv3, &a73_else, {{0, 0, 0}}},
    {"ThunderX", "", NULL, "armv8_cavium_thunder", &pmuv3, &thunder_else, {{0, 0, 0}}},
    {"Vulcan, ThunderX2", "arm_thunderx2", NULL, "armv8_brcm_vulcan", &pmuv3, &thunder_else,
     {{0, 0, 0}}},
    {"ARM PMUv3",
     "arm_ac53 arm_ac55 arm_ac76 arm_n1 arm_n2 arm_n3 arm_v1 arm_v2 arm_v3 arm_a64fx arm_kunpeng "
     "arm_xgene",
     NULL, "armv[89]_*", &pmuv3, &pmuv3_else, {{0, 0, 0}}},
};
/* clang-format on */

static const struct counter *counter_of(const struct map *map, int slot)
{
	while (map && !map->on[slot].name)
		map = map->base;
	return map && map->on[slot].name[0] ? &map->on[slot] : NULL;
}

static int slot_of(const struct event_row *row)
{
	for (int i = 0; i < NR_SLOTS; i++)
		if (slots[i].type == row->perf_type && slots[i].config == row->perf_config)
			return i;
	return -1;
}

static void add_counter(struct buf *out, const struct counter *k)
{
	buf_printf(out, "%s (0x%04" PRIx64 ")%s%s", k->name, k->code, k->counts ? ": " : "",
		   k->counts ? k->counts : "");
}

/* 1: the core implements the event; 0: it does not; -1: its PMU does not publish which. */
static int implements(const struct host *h, const struct host_pmu *pmu, const struct counter *k)
{
	char name[MAX_NAME_BYTES];
	struct sysfs_event ev;
	size_t i;

	if (k->code >= 0x40 || !pmu) /* only common events are published */
		return -1;
	for (i = 0; k->name[i] && i < sizeof(name) - 1; i++)
		name[i] = (char)tolower((unsigned char)k->name[i]);
	name[i] = '\0';
	if (sysfs_find_event(h, pmu, name, &ev) == 0)
		return 1;
	return sysfs_find_event(h, pmu, "cpu_cycles", &ev) == 0 ? 0 : -1;
}

/* pmu: of the host; NULL: not known, or not of this machine. */
static void add_cpu(struct buf *out, const char *label, const struct cpu *cpu, int slot,
		    const struct host *h, const struct host_pmu *pmu)
{
	const struct counter *k = counter_of(cpu->map, slot);
	const struct counter *other = counter_of(cpu->otherwise, slot);
	int has = k && !cpu->vendor ? implements(h, pmu, k) : 1;

	if (has == 0 && other && implements(h, pmu, other) != 0) {
		k = other;
		has = 1;
	}
	buf_printf(out, "%s: ", label);
	if (!k) {
		buf_adds(out, "none: the kernel refuses this event\n");
		return;
	}
	if (has == 0) {
		buf_printf(out, "none: the core does not implement %s (0x%04" PRIx64 ")\n", k->name,
			   k->code);
		return;
	}
	add_counter(out, k);
	if (has < 0)
		buf_adds(out, "; where the core implements it");
	if (has < 0 && other) {
		buf_adds(out, ", else ");
		add_counter(out, other);
	}
	buf_addc(out, '\n');
}

static bool is_listed(const char *names, const char *name)
{
	size_t len = strlen(name);

	for (; *names; names += strcspn(names, " "), names += *names == ' ')
		if (strncasecmp(names, name, len) == 0 && (!names[len] || names[len] == ' '))
			return true;
	return false;
}

static bool has_numbers_of(const struct cpu *cpu, const struct host *h)
{
	if (!cpu->vendor || !is_listed(cpu->vendor, h->cpu_vendor))
		return false;
	for (size_t i = 0; i < MAX_IDS && cpu->ids[i].family; i++)
		if (cpu->ids[i].family == h->cpu_family && h->cpu_model_nr >= cpu->ids[i].first &&
		    h->cpu_model_nr <= cpu->ids[i].last)
			return true;
	return false;
}

static bool is_pmu_of(const struct cpu *cpu, const struct host *h, const char *pmu)
{
	bool is_named =
	    strchr(cpu->pmu, '*') ? str_glob(cpu->pmu, pmu) : strcmp(cpu->pmu, pmu) == 0;

	return is_named && (!cpu->vendor || has_numbers_of(cpu, h));
}

static void add_unknown(struct buf *out, const struct host *h)
{
	if (h->cpu_vendor[0])
		buf_printf(out, "unknown for this CPU (%s family %u model %u)\n", h->cpu_vendor,
			   h->cpu_family, h->cpu_model_nr);
	else
		buf_adds(out, "unknown for this CPU\n");
}

static void add_pmu(struct buf *out, const struct host *h, const struct host_pmu *pmu, int slot)
{
	size_t i = 0;

	while (i < NR(cpus) && !is_pmu_of(&cpus[i], h, pmu->name))
		i++;
	if (i < NR(cpus)) {
		bool is_only = cpus[i].vendor && parts_nr_core_pmus(h) == 1;

		add_cpu(out, is_only ? cpus[i].title : pmu->name, &cpus[i], slot, h, pmu);
		return;
	}
	buf_printf(out, "%s: ", pmu->name);
	add_unknown(out, h);
}

/* Without core PMUs (a virtual machine) all core types of the CPU are meant. */
static void add_host(struct buf *out, const struct host *h, int slot)
{
	size_t start = out->len;

	for (size_t i = 0; i < h->nr_pmus; i++)
		if (h->pmus[i].is_core)
			add_pmu(out, h, &h->pmus[i], slot);
	for (size_t i = 0; i < NR(cpus) && parts_nr_core_pmus(h) == 0; i++)
		if (has_numbers_of(&cpus[i], h) ||
		    (strcmp(h->machine, "aarch64") == 0 && is_pmu_of(&cpus[i], h, "armv8_pmuv3_0")))
			add_cpu(out, cpus[i].title, &cpus[i], slot, h, NULL);
	if (out->len == start)
		add_unknown(out, h);
}

void generic_describe(const struct catalogue *c, const struct event_row *row, struct buf *out)
{
	const char *model = event_model_canonical(c->model);
	int slot = slot_of(row);
	size_t start;

	if (slot < 0 || !c->host)
		return;
	buf_adds(out, out->len ? "\n" : "");
	start = out->len;
	for (size_t i = 0; i < NR(cpus) && model; i++)
		if (is_listed(cpus[i].names, model))
			add_cpu(out, cpus[i].title, &cpus[i], slot, c->host, NULL);
	if (!model)
		add_host(out, c->host, slot);
	else if (out->len == start)
		buf_printf(out, "unknown for the model %s\n", model);
	buf_adds(out, "by the tables of Linux 6.12; those of the running kernel decide");
}

static bool is_same(const struct counter *a, const struct counter *b)
{
	if (!a || !b)
		return a == b;
	return a->code == b->code && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->counts ? a->counts : "", b->counts ? b->counts : "") == 0;
}

/* Of one of the two maps of a CPU. */
static const struct counter *choice(size_t cpu, bool is_other, int slot)
{
	return counter_of(is_other ? cpus[cpu].otherwise : cpus[cpu].map, slot);
}

/* The row of all CPUs whose counter is that of the first. */
static void add_table_row(struct buf *out, int slot, size_t first, bool is_other)
{
	const struct counter *k = choice(first, is_other, slot);
	const char *separator = "";

	if (k)
		buf_printf(out, "| %s | 0x%04" PRIx64 " | %s | ", k->name, k->code,
			   k->counts ? k->counts : "");
	else
		buf_adds(out, "| none | | | ");
	for (size_t i = first; i < NR(cpus); i++) {
		if (!is_same(k, choice(i, is_other, slot)))
			continue;
		buf_printf(out, "%s%s", separator, cpus[i].title);
		separator = "; ";
	}
	buf_adds(out, is_other ? ", whose core implements no other above |\n" : " |\n");
}

void generic_table(const struct event_row *row, struct buf *out)
{
	int slot = slot_of(row);

	if (slot < 0)
		return;
	for (int is_other = 0; is_other < 2; is_other++)
		for (size_t i = 0; i < NR(cpus); i++) {
			const struct counter *k = choice(i, is_other, slot);
			size_t first = 0;

			while (!is_same(choice(first, is_other, slot), k))
				first++;
			if (first == i && (k || !is_other))
				add_table_row(out, slot, i, is_other);
		}
}
