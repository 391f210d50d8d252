/*
 * Tables, from the sources that the header names.
 */
#include "event/generic_cpus.h"

#include "base/perf_abi.h"

#define CACHE(cache, result)                                                                       \
	PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_READ << 8 |       \
				PERF_COUNT_HW_CACHE_RESULT_##result << 16

const struct generic_event generic_slots[GENERIC_NR_SLOTS] = {
    [GENERIC_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    [GENERIC_INSTRUCTIONS] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    [GENERIC_REF_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    [GENERIC_CACHE_REFERENCES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    [GENERIC_CACHE_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    [GENERIC_BRANCHES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    [GENERIC_BRANCH_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    [GENERIC_FRONTEND] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    [GENERIC_BACKEND] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    [GENERIC_L1D_LOADS] = {CACHE(L1D, ACCESS)},
    [GENERIC_L1D_MISSES] = {CACHE(L1D, MISS)},
    [GENERIC_L1I_MISSES] = {CACHE(L1I, MISS)},
    [GENERIC_LL_LOADS] = {CACHE(LL, ACCESS)},
    [GENERIC_LL_MISSES] = {CACHE(LL, MISS)},
    [GENERIC_DTLB_LOADS] = {CACHE(DTLB, ACCESS)},
    [GENERIC_DTLB_MISSES] = {CACHE(DTLB, MISS)},
    [GENERIC_ITLB_LOADS] = {CACHE(ITLB, ACCESS)},
    [GENERIC_ITLB_MISSES] = {CACHE(ITLB, MISS)},
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

static const struct generic_map intel = {NULL, {
    [GENERIC_CYCLES] = {"CPU_CLK_UNHALTED.THREAD", 0x003c, "on fixed counter 1 while it is free"},
    [GENERIC_INSTRUCTIONS] = {"INST_RETIRED.ANY", 0x00c0, "on fixed counter 0 while it is free"},
    [GENERIC_REF_CYCLES] = {"CPU_CLK_UNHALTED.REF_TSC", 0x0300, "on fixed counter 2"},
    [GENERIC_CACHE_REFERENCES] = {"LONGEST_LAT_CACHE.REFERENCE", 0x4f2e, NULL},
    [GENERIC_CACHE_MISSES] = {"LONGEST_LAT_CACHE.MISS", 0x412e, NULL},
    [GENERIC_BRANCHES] = {"BR_INST_RETIRED.ALL_BRANCHES", 0x00c4, NULL},
    [GENERIC_BRANCH_MISSES] = {"BR_MISP_RETIRED.ALL_BRANCHES", 0x00c5, NULL},
}};

static const struct generic_map core2 = {&intel, {
    [GENERIC_L1D_LOADS] = {"L1D_CACHE_LD.MESI", 0x0f40, NULL},
    [GENERIC_L1D_MISSES] = {"L1D_CACHE_LD.I_STATE", 0x0140, NULL},
    [GENERIC_L1I_MISSES] = {"L1I_MISSES", 0x0081, NULL},
    [GENERIC_LL_LOADS] = {"L2_LD.MESI", 0x4f29, "loads of the level 2 cache"},
    [GENERIC_LL_MISSES] = {"L2_LD.I_STATE", 0x4129, "loads that missed the level 2 cache"},
    [GENERIC_DTLB_LOADS] = {"L1D_CACHE_LD.MESI", 0x0f40, L1D_READS},
    [GENERIC_DTLB_MISSES] = {"DTLB_MISSES.MISS_LD", 0x0208, NULL},
    [GENERIC_ITLB_LOADS] = {"INST_RETIRED.ANY_P", 0x00c0, INSTRUCTIONS_NOT_LOOKUPS},
    [GENERIC_ITLB_MISSES] = {"ITLB.MISSES", 0x1282, NULL},
}};

#define OFFCORE(code, reads)                                                                       \
    [GENERIC_LL_LOADS] = {"OFFCORE_RESPONSE", code, reads " that left the core"},                          \
    [GENERIC_LL_MISSES] = {"OFFCORE_RESPONSE", code, reads " that missed the last level cache"}

static const struct generic_map nehalem = {&intel, {
    [GENERIC_BRANCH_MISSES] = {"BR_MISP_RETIRED.ALL_BRANCHES", 0x00c5,
                       "with erratum AAJ80 BR_MISP_EXEC.ANY (0x7f89), speculative ones too"},
    [GENERIC_FRONTEND] = {"UOPS_ISSUED.ANY", 0x0180010e, STALLED("issued")},
    [GENERIC_BACKEND] = {"UOPS_EXECUTED.CORE_ACTIVE_CYCLES", 0x01803fb1, STALLED("executed")},
    [GENERIC_L1D_LOADS] = {"MEM_INST_RETIRED.LOADS", 0x010b, LOADS_RETIRED},
    [GENERIC_L1D_MISSES] = {"L1D.REPL", 0x0151, LINES_IN},
    [GENERIC_L1I_MISSES] = {"L1I.MISSES", 0x0280, NULL},
    OFFCORE(0x01b7, "demand data reads"),
    [GENERIC_DTLB_LOADS] = {"L1D_CACHE_LD.MESI", 0x0f40, L1D_READS},
    [GENERIC_DTLB_MISSES] = {"DTLB_LOAD_MISSES.ANY", 0x0108, NULL},
    [GENERIC_ITLB_LOADS] = {"INST_RETIRED.ANY_P", 0x01c0, INSTRUCTIONS_NOT_LOOKUPS},
    [GENERIC_ITLB_MISSES] = {"ITLB_MISS_RETIRED", 0x20c8, "instructions retired that missed"},
}};

static const struct generic_map westmere = {&nehalem, {
    [GENERIC_BRANCH_MISSES] = {"BR_MISP_RETIRED.ALL_BRANCHES", 0x00c5, NULL},
    [GENERIC_DTLB_LOADS] = {"MEM_INST_RETIRED.LOADS", 0x010b, LOADS_RETIRED},
    [GENERIC_ITLB_MISSES] = {"ITLB_MISSES.ANY", 0x0185, NULL},
}};

static const struct generic_map sandy_bridge = {&intel, {
    [GENERIC_FRONTEND] = {"UOPS_ISSUED.ANY", 0x0180010e, STALLED("issued")},
    [GENERIC_BACKEND] = {"UOPS_DISPATCHED.THREAD", 0x018001b1, STALLED("dispatched")},
    [GENERIC_L1D_LOADS] = {"MEM_UOPS_RETIRED.LOADS", 0xf1d0, LOADS_RETIRED},
    [GENERIC_L1D_MISSES] = {"L1D.REPLACEMENT", 0x0151, LINES_IN},
    [GENERIC_L1I_MISSES] = {"ICACHE.MISSES", 0x0280, NULL},
    OFFCORE(0x01b7, "data reads, on demand and prefetched into the last level cache,"),
    [GENERIC_DTLB_LOADS] = {"MEM_UOPS_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [GENERIC_DTLB_MISSES] = {"DTLB_LOAD_MISSES.MISS_CAUSES_A_WALK", 0x0108, WALKS_CAUSED},
    [GENERIC_ITLB_LOADS] = {"ITLB_MISSES.STLB_HIT", 0x1085, L2_HITS},
    [GENERIC_ITLB_MISSES] = {"ITLB_MISSES.MISS_CAUSES_A_WALK", 0x0185, WALKS_CAUSED},
}};

static const struct generic_map ivy_bridge = {&sandy_bridge, {
    [GENERIC_BACKEND] = NONE,
    [GENERIC_DTLB_MISSES] = {"DTLB_LOAD_MISSES.DEMAND_LD_MISS_CAUSES_A_WALK", 0x8108, WALKS_CAUSED},
}};

static const struct generic_map haswell = {&intel, {
    [GENERIC_L1D_LOADS] = {"MEM_UOPS_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [GENERIC_L1D_MISSES] = {"L1D.REPLACEMENT", 0x0151, LINES_IN},
    [GENERIC_L1I_MISSES] = {"ICACHE.MISSES", 0x0280, NULL},
    OFFCORE(0x01b7, "demand data reads"),
    [GENERIC_DTLB_LOADS] = {"MEM_UOPS_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [GENERIC_DTLB_MISSES] = {"DTLB_LOAD_MISSES.MISS_CAUSES_A_WALK", 0x0108, WALKS_CAUSED},
    [GENERIC_ITLB_LOADS] = {"ITLB_MISSES.STLB_HIT", 0x6085, L2_HITS},
    [GENERIC_ITLB_MISSES] = {"ITLB_MISSES.MISS_CAUSES_A_WALK", 0x0185, WALKS_CAUSED},
}};

static const struct generic_map skylake = {&haswell, {
    [GENERIC_L1D_LOADS] = {"MEM_INST_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [GENERIC_L1I_MISSES] = {"ICACHE_64B.MISS", 0x0283, NULL},
    [GENERIC_DTLB_LOADS] = {"MEM_INST_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [GENERIC_DTLB_MISSES] = {"DTLB_LOAD_MISSES.WALK_COMPLETED", 0x0e08, WALKS},
    [GENERIC_ITLB_LOADS] = {"ITLB_MISSES.STLB_HIT", 0x2085, L2_HITS},
    [GENERIC_ITLB_MISSES] = {"ITLB_MISSES.WALK_COMPLETED", 0x0e85, WALKS},
}};

static const struct generic_map ice_lake = {&skylake, {
    [GENERIC_ITLB_LOADS] = NONE,
}};

#define REF_TSC                                                                                    \
    [GENERIC_REF_CYCLES] = {"CPU_CLK_UNHALTED.REF_TSC", 0x0300, "0x013c where CPUID reports that event"}

static const struct generic_map golden_cove = {&intel, {
    REF_TSC,
    [GENERIC_L1D_LOADS] = {"MEM_INST_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [GENERIC_L1D_MISSES] = {"L2_RQSTS.ALL_DEMAND_DATA_RD", 0xe124, "demand data reads sent to level 2"},
    [GENERIC_L1I_MISSES] = {"L2_RQSTS.ALL_CODE_RD", 0xe424, "code reads sent to level 2"},
    OFFCORE(0x012a, "demand data reads"),
    [GENERIC_DTLB_LOADS] = {"MEM_INST_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [GENERIC_DTLB_MISSES] = {"DTLB_LOAD_MISSES.WALK_COMPLETED", 0x0e12, WALKS},
    [GENERIC_ITLB_MISSES] = {"ITLB_MISSES.WALK_COMPLETED", 0x0e11, WALKS},
}};

static const struct generic_map bonnell = {&intel, {
    [GENERIC_L1D_LOADS] = {"L1D_CACHE.LD", 0x2140, NULL},
    [GENERIC_L1I_MISSES] = {"ICACHE.MISSES", 0x0280, NULL},
    [GENERIC_LL_LOADS] = {"L2_LD.MESI", 0x4f29, "loads of the level 2 cache"},
    [GENERIC_LL_MISSES] = {"L2_LD.I_STATE", 0x4129, "loads that missed the level 2 cache"},
    [GENERIC_DTLB_LOADS] = {"L1D_CACHE.LD", 0x2140, L1D_READS},
    [GENERIC_DTLB_MISSES] = {"DATA_TLB_MISSES.DTLB_MISS_LD", 0x0508, NULL},
    [GENERIC_ITLB_LOADS] = {"INST_RETIRED.ANY_P", 0x00c0, INSTRUCTIONS_NOT_LOOKUPS},
    [GENERIC_ITLB_MISSES] = {"ITLB.MISSES", 0x0282, NULL},
}};

static const struct generic_map silvermont = {&intel, {
    [GENERIC_L1D_MISSES] = {"MEM_UOPS_RETIRED.L1_MISS_LOADS", 0x0104, NULL},
    [GENERIC_L1I_MISSES] = {"ICACHE.MISSES", 0x0280, NULL},
    [GENERIC_LL_LOADS] = {"OFFCORE_RESPONSE", 0x01b7, "demand data reads that left the core"},
    [GENERIC_DTLB_MISSES] = {"MEM_UOPS_RETIRED.DTLB_MISS_LOADS", 0x0804, NULL},
    [GENERIC_ITLB_LOADS] = {"INST_RETIRED.ANY_P", 0x00c0, INSTRUCTIONS_NOT_LOOKUPS},
    [GENERIC_ITLB_MISSES] = {"PAGE_WALKS.I_SIDE_WALKS", 0x40205, "page walks"},
}};

static const struct generic_map goldmont = {&intel, {
    [GENERIC_L1D_LOADS] = {"MEM_UOPS_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [GENERIC_L1I_MISSES] = {"ICACHE.MISSES", 0x0280, NULL},
    OFFCORE(0x01b7, "demand data reads"),
    [GENERIC_DTLB_LOADS] = {"MEM_UOPS_RETIRED.ALL_LOADS", 0x81d0, LOADS_RETIRED},
    [GENERIC_ITLB_LOADS] = {"INST_RETIRED.ANY_P", 0x00c0, INSTRUCTIONS_NOT_LOOKUPS},
    [GENERIC_ITLB_MISSES] = {"ITLB.MISS", 0x0481, NULL},
}};

static const struct generic_map goldmont_plus = {&goldmont, {
    [GENERIC_DTLB_MISSES] = {"DTLB_LOAD_MISSES.WALK_COMPLETED", 0x0e08, WALKS},
}};

static const struct generic_map tremont = {&goldmont_plus, {
    [GENERIC_ITLB_LOADS] = NONE,
}};

static const struct generic_map gracemont = {&tremont, {REF_TSC}};

static const struct generic_map amd = {NULL, {
    [GENERIC_CYCLES] = {"CYCLES_NOT_IN_HALT", 0x0076, NULL},
    [GENERIC_INSTRUCTIONS] = {"RETIRED_INSTRUCTIONS", 0x00c0, NULL},
    [GENERIC_CACHE_REFERENCES] = {"REQUESTS_TO_L2", 0x077d, "requests to the level 2 cache"},
    [GENERIC_CACHE_MISSES] = {"L2_CACHE_MISS", 0x077e, "misses of the level 2 cache"},
    [GENERIC_BRANCHES] = {"RETIRED_BRANCH_INSTRUCTIONS", 0x00c2, NULL},
    [GENERIC_BRANCH_MISSES] = {"RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS", 0x00c3, NULL},
    [GENERIC_FRONTEND] = {"DECODER_EMPTY", 0x00d0, "cycles in which the decoder had nothing"},
    [GENERIC_BACKEND] = {"DISPATCH_STALLS", 0x00d1, "cycles in which dispatch was stalled"},
    [GENERIC_L1D_LOADS] = {"DATA_CACHE_ACCESSES", 0x0040, "loads and stores"},
    [GENERIC_L1D_MISSES] = {"DATA_CACHE_MISSES", 0x0141, "misses of loads and stores"},
    [GENERIC_L1I_MISSES] = {"INSTRUCTION_CACHE_MISSES", 0x0081, NULL},
    [GENERIC_LL_LOADS] = {"REQUESTS_TO_L2", 0x037d, "requests to the level 2 cache, for data and code"},
    [GENERIC_LL_MISSES] = {"L2_CACHE_MISS", 0x037e, "misses of the level 2 cache, for data and code"},
    [GENERIC_DTLB_LOADS] = {"DATA_CACHE_ACCESSES", 0x0040, "loads and stores"},
    [GENERIC_DTLB_MISSES] = {"L1_DTLB_AND_L2_DTLB_MISS", 0x0746, "misses of both levels"},
    [GENERIC_ITLB_LOADS] = {"INSTRUCTION_CACHE_FETCHES", 0x0080, "fetches from the instruction cache"},
    [GENERIC_ITLB_MISSES] = {"L1_ITLB_MISS_AND_L2_ITLB_MISS", 0x0385, "misses of both levels"},
}};

/* Family 18h has Zen's cache events with the hardware events of the families before. */
static const struct generic_map dhyana = {&amd, {
    [GENERIC_L1D_MISSES] = {"L2_REQUEST_G1", 0xc860, "requests of the data cache to level 2"},
    [GENERIC_LL_LOADS] = NONE,
    [GENERIC_LL_MISSES] = NONE,
    [GENERIC_DTLB_LOADS] = {"L1_DTLB_MISS", 0xff45, "misses of the first level, looked up in the second"},
    [GENERIC_DTLB_MISSES] = {"L1_DTLB_MISS", 0xf045, "misses of both levels"},
    [GENERIC_ITLB_LOADS] = {"L1_ITLB_MISS_L2_ITLB_HIT", 0x0084, L2_HITS},
    [GENERIC_ITLB_MISSES] = {"L1_ITLB_MISS_L2_ITLB_MISS", 0xff85, "misses of both levels"},
}};

static const struct generic_map zen1 = {&dhyana, {
    [GENERIC_CACHE_REFERENCES] = {"L2_REQUEST_G1", 0xff60, "requests to the level 2 cache"},
    [GENERIC_CACHE_MISSES] = {"CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS", 0x0964,
                      "misses of the level 2 cache, for data and code"},
    [GENERIC_FRONTEND] = {"INSTRUCTION_PIPE_STALL", 0x0287, "cycles in which fetch had nothing to deliver"},
    [GENERIC_BACKEND] = {"INSTRUCTION_PIPE_STALL", 0x0187, "cycles in which fetch was held up by the rest"},
}};

static const struct generic_map zen2 = {&zen1, {
    [GENERIC_FRONTEND] = {"MICRO_OP_QUEUE_EMPTY", 0x00a9, "cycles in which the queue was empty"},
    [GENERIC_BACKEND] = NONE,
}};

static const struct generic_map zen4 = {&zen2, {
    [GENERIC_REF_CYCLES] = {"P0_FREQ_CYCLES_NOT_IN_HALT", 0x100000120, "from Linux 6.9"},
}};

static const struct generic_map zxc = {NULL, {
    [GENERIC_CYCLES] = {"event", 0x0082, NULL},
}};

static const struct generic_map zxd = {&zxc, {
    [GENERIC_INSTRUCTIONS] = {"event", 0x00c0, NULL},
    [GENERIC_CACHE_REFERENCES] = {"event", 0x0515, NULL},
    [GENERIC_CACHE_MISSES] = {"event", 0x051a, NULL},
    [GENERIC_BRANCHES] = {"event", 0x0700, NULL},
    [GENERIC_BRANCH_MISSES] = {"event", 0x0709, NULL},
    [GENERIC_FRONTEND] = {"event", 0x01800101, NULL},
    [GENERIC_BACKEND] = {"event", 0x040f, NULL},
    [GENERIC_L1D_LOADS] = {"event", 0x0042, NULL},
    [GENERIC_L1D_MISSES] = {"event", 0x0538, NULL},
    [GENERIC_L1I_MISSES] = {"event", 0x0301, NULL},
    [GENERIC_DTLB_LOADS] = {"event", 0x0042, "the event of level 1 data cache loads"},
    [GENERIC_DTLB_MISSES] = {"event", 0x052c, NULL},
    [GENERIC_ITLB_LOADS] = {"event", 0x00c0, INSTRUCTIONS_NOT_LOOKUPS},
    [GENERIC_ITLB_MISSES] = {"event", 0x0534, NULL},
}};

static const struct generic_map zxe = {&zxd, {
    [GENERIC_BRANCHES] = {"event", 0x0028, NULL},
    [GENERIC_BRANCH_MISSES] = {"event", 0x0029, NULL},
    [GENERIC_L1D_LOADS] = {"event", 0x0568, NULL},
    [GENERIC_L1D_MISSES] = {"event", 0x054b, NULL},
    [GENERIC_DTLB_LOADS] = {"event", 0x0568, "the event of level 1 data cache loads"},
}};

#define STORES_TOO "stores too, on most cores"

/* The kernel uses an event only where the core implements it. */
static const struct generic_map pmuv3 = {NULL, {
    [GENERIC_CYCLES] = {"CPU_CYCLES", 0x11, NULL},
    [GENERIC_INSTRUCTIONS] = {"INST_RETIRED", 0x08, NULL},
    [GENERIC_CACHE_REFERENCES] = {"L1D_CACHE", 0x04, "accesses to the level 1 data cache"},
    [GENERIC_CACHE_MISSES] = {"L1D_CACHE_REFILL", 0x03, "refills of the level 1 data cache"},
    [GENERIC_BRANCHES] = {"BR_RETIRED", 0x21,
                  "before Linux 6.12 PC_WRITE_RETIRED (0x000c), taken branches only, if implemented"},
    [GENERIC_BRANCH_MISSES] = {"BR_MIS_PRED", 0x10, "speculative ones too"},
    [GENERIC_FRONTEND] = {"STALL_FRONTEND", 0x23, NULL},
    [GENERIC_BACKEND] = {"STALL_BACKEND", 0x24, NULL},
    [GENERIC_L1D_LOADS] = {"L1D_CACHE", 0x04, STORES_TOO},
    [GENERIC_L1D_MISSES] = {"L1D_CACHE_REFILL", 0x03, STORES_TOO},
    [GENERIC_L1I_MISSES] = {"L1I_CACHE_REFILL", 0x01, NULL},
    [GENERIC_LL_LOADS] = {"LL_CACHE_RD", 0x36, NULL},
    [GENERIC_LL_MISSES] = {"LL_CACHE_MISS_RD", 0x37, NULL},
    [GENERIC_DTLB_LOADS] = {"L1D_TLB", 0x25, STORES_TOO},
    [GENERIC_DTLB_MISSES] = {"L1D_TLB_REFILL", 0x05, STORES_TOO},
    [GENERIC_ITLB_LOADS] = {"L1I_TLB", 0x26, NULL},
    [GENERIC_ITLB_MISSES] = {"L1I_TLB_REFILL", 0x02, NULL},
}};

/* What the kernel uses where the core does not implement the event above. */
static const struct generic_map pmuv3_else = {NULL, {
    [GENERIC_BRANCHES] = {"PC_WRITE_RETIRED", 0x0c, "taken branches only"},
}};

static const struct generic_map a57_else = {&pmuv3_else, {
    [GENERIC_L1D_LOADS] = {"L1D_CACHE_RD", 0x40, NULL},
    [GENERIC_L1D_MISSES] = {"L1D_CACHE_REFILL_RD", 0x42, NULL},
    [GENERIC_DTLB_MISSES] = {"L1D_TLB_REFILL_RD", 0x4c, NULL},
}};

static const struct generic_map a73_else = {&pmuv3_else, {
    [GENERIC_L1D_LOADS] = {"L1D_CACHE_RD", 0x40, NULL},
}};

static const struct generic_map thunder_else = {&a57_else, {
    [GENERIC_DTLB_LOADS] = {"L1D_TLB_RD", 0x4e, NULL},
}};

#define ALL(family) {family, 0, 0xff}
#define ONE(model) {6, model, model}

const struct generic_cpu generic_cpus[] = {
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

const size_t generic_nr_cpus = sizeof(generic_cpus) / sizeof(generic_cpus[0]);
