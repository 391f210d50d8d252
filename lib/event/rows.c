/*
 * The tables of the groups fixed, arch and software. The kernel chooses the counter: each row names
 * a generic event, so fixed:X and arch:X count the same.
 */
#include "base/perf_abi.h"
#include "event/event.h"
#include "event/parts.h"

#define NR(a) (sizeof(a) / sizeof((a)[0]))
#define ANY   (EVENT_ALONE_OS | EVENT_ALONE_USER)

#define HARDWARE(number_, name_, alias_, kernel, unit_, text)                                      \
	{                                                                                          \
		.name = name_, .alias = alias_, .number = number_, .kind = EVENT_COUNT,            \
		.scope = EVENT_SCOPE_CPU, .alone = ANY, .unit = unit_, .source = #kernel,          \
		.description = text, .detail = MAPPED_##kernel, .perf_type = PERF_TYPE_HARDWARE,   \
		.perf_config = kernel                                                              \
	}

/* What the kernel maps generic events to, for --describe-event. Source: intel_perfmon_event_map in
 * arch/x86/events/intel/core.c; amd_perfmon_event_map, amd_zen1_…, amd_zen2_… and
 * amd_zen4_perfmon_event_map in arch/x86/events/amd/core.c; armv8_pmuv3_perf_map in
 * drivers/perf/arm_pmuv3.c. Codes are event | unit mask << 8. */
#define CHOICE "\nLinux chooses the counter, a fixed one where the CPU has one."
#define MAPPED_PERF_COUNT_HW_CPU_CYCLES                                                            \
	"Intel: CPU_CLK_UNHALTED.THREAD (0x003c)\n"                                                \
	"AMD: CPU_CLK_UNHALTED (0x0076)\n"                                                         \
	"ARM: CPU_CYCLES (0x11)" CHOICE
#define MAPPED_PERF_COUNT_HW_INSTRUCTIONS                                                          \
	"Intel: INST_RETIRED.ANY (0x00c0)\n"                                                       \
	"AMD: RETIRED_INSTRUCTIONS (0x00c0)\n"                                                     \
	"ARM: INST_RETIRED (0x08)" CHOICE
#define MAPPED_PERF_COUNT_HW_REF_CPU_CYCLES                                                        \
	"Intel: CPU_CLK_UNHALTED.REF_TSC (0x0300, fixed counter 2)\n"                              \
	"AMD: cycles not halted at the P0 frequency (0x0120) on Zen 4 and later from Linux 6.9, "  \
	"none before\n"                                                                            \
	"ARM: none" CHOICE
#define MAPPED_PERF_COUNT_HW_CACHE_REFERENCES                                                      \
	"Intel: LONGEST_LAT_CACHE.REFERENCE (0x4f2e)\n"                                            \
	"AMD: requests to the L2 cache (0xff60 since Zen, 0x077d before)\n"                        \
	"ARM: L1D_CACHE (0x04), the level 1 data cache" CHOICE
#define MAPPED_PERF_COUNT_HW_CACHE_MISSES                                                          \
	"Intel: LONGEST_LAT_CACHE.MISS (0x412e)\n"                                                 \
	"AMD: misses of the L2 cache (0x0964 since Zen, 0x077e before)\n"                          \
	"ARM: L1D_CACHE_REFILL (0x03), the level 1 data cache" CHOICE
#define MAPPED_PERF_COUNT_HW_BRANCH_INSTRUCTIONS                                                   \
	"Intel: BR_INST_RETIRED.ALL_BRANCHES (0x00c4)\n"                                           \
	"AMD: RETIRED_BRANCH_INSTRUCTIONS (0x00c2)\n"                                              \
	"ARM: by kernel, PC_WRITE_RETIRED (0x0c: taken branches only) or BR_RETIRED (0x21)" CHOICE
#define MAPPED_PERF_COUNT_HW_BRANCH_MISSES                                                         \
	"Intel: BR_MISP_RETIRED.ALL_BRANCHES (0x00c5)\n"                                           \
	"AMD: RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS (0x00c3)\n"                                 \
	"ARM: BR_MIS_PRED (0x10), speculative ones too" CHOICE
#define MAPPED_PERF_COUNT_HW_STALLED_CYCLES_FRONTEND                                               \
	"Intel: none since Haswell\n"                                                              \
	"AMD: 0x00d0 before Zen, 0x0287 on Zen 1, 0x00a9 since Zen 2\n"                            \
	"ARM: STALL_FRONTEND (0x23) where the core has it" CHOICE
#define MAPPED_PERF_COUNT_HW_STALLED_CYCLES_BACKEND                                                \
	"Intel: none since Haswell\n"                                                              \
	"AMD: 0x00d1 before Zen, 0x0187 on Zen 1, none since Zen 2\n"                              \
	"ARM: STALL_BACKEND (0x24) where the core has it" CHOICE

/* attr.config of generic cache events: perf_event_open(2). */
#define CACHE(number_, name_, cache, op, result, unit_, text, detail_)                             \
	{                                                                                          \
		.name = name_, .number = number_, .kind = EVENT_COUNT, .scope = EVENT_SCOPE_CPU,   \
		.alone = ANY, .unit = unit_, .description = text, .detail = detail_,               \
		.source = "PERF_TYPE_HW_CACHE: " #cache ", " #op ", " #result,                     \
		.perf_type = PERF_TYPE_HW_CACHE,                                                   \
		.perf_config = PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 |    \
			       PERF_COUNT_HW_CACHE_RESULT_##result << 16,                          \
	}

#define SOFTWARE(number_, name_, alias_, kernel, unit_, alone_, text)                              \
	{                                                                                          \
		.name = name_, .alias = alias_, .number = number_, .kind = EVENT_COUNT,            \
		.scope = EVENT_SCOPE_CPU, .alone = alone_, .unit = unit_, .source = #kernel,       \
		.description = text, .perf_type = PERF_TYPE_SOFTWARE, .perf_config = kernel        \
	}
#define CLOCK(number_, name_, kernel, text)                                                        \
	{                                                                                          \
		.name = name_, .number = number_, .kind = EVENT_COUNT, .scope = EVENT_SCOPE_CPU,   \
		.alone_sampled = ANY, .unit = "ns", .source = #kernel, .description = text,        \
		.perf_type = PERF_TYPE_SOFTWARE, .perf_config = kernel                             \
	}

static const struct event_row fixed_rows[] = {
    HARDWARE(1, "instructions_retired", NULL, PERF_COUNT_HW_INSTRUCTIONS, "instructions",
	     "Instructions retired."),
    HARDWARE(2, "unhalted_core_cycles", NULL, PERF_COUNT_HW_CPU_CYCLES, "cycles",
	     "Core cycles while the CPU was not halted, at its actual frequency."),
    HARDWARE(3, "unhalted_reference_cycles", NULL, PERF_COUNT_HW_REF_CPU_CYCLES, "cycles",
	     "Cycles while the CPU was not halted, at a constant reference frequency."),
    HARDWARE(4, "cycle_counter", NULL, PERF_COUNT_HW_CPU_CYCLES, "cycles",
	     "The cycle counter: core cycles (ARM's name for it)."),
};

static const struct event_row arch_rows[] = {
    HARDWARE(1, "unhalted_core_cycles", NULL, PERF_COUNT_HW_CPU_CYCLES, "cycles",
	     "Core cycles while the CPU was not halted, at its actual frequency."),
    HARDWARE(2, "instructions_retired", NULL, PERF_COUNT_HW_INSTRUCTIONS, "instructions",
	     "Instructions retired."),
    HARDWARE(3, "unhalted_reference_cycles", NULL, PERF_COUNT_HW_REF_CPU_CYCLES, "cycles",
	     "Cycles while the CPU was not halted, at a constant reference frequency."),
    HARDWARE(4, "llc_references", NULL, PERF_COUNT_HW_CACHE_REFERENCES, "references",
	     "Last level cache references, as the kernel maps them for this CPU."),
    HARDWARE(5, "llc_misses", NULL, PERF_COUNT_HW_CACHE_MISSES, "misses",
	     "Last level cache misses, as the kernel maps them for this CPU."),
    HARDWARE(6, "branch_instructions_retired", "branches_retired",
	     PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branches", "Branch instructions retired."),
    HARDWARE(7, "branch_misses_retired", NULL, PERF_COUNT_HW_BRANCH_MISSES, "misses",
	     "Mispredicted branches retired."),
    /* Numbers 32 to 63 are ARM's common events. The rows below depend on the CPU:
       skl_hw_cache_event_ids and similar in arch/x86/events/intel/core.c,
       amd_hw_cache_event_ids_f17h in amd/core.c, armv8_pmuv3_perf_cache_map in
       drivers/perf/arm_pmuv3.c. */
    CACHE(101, "l1d_loads", L1D, READ, ACCESS, "loads", "Level 1 data cache loads.",
	  "Intel: loads retired\nAMD Zen: data cache accesses, stores too\nARM: L1D_CACHE, stores "
	  "too on most cores"),
    CACHE(102, "l1d_load_misses", L1D, READ, MISS, "misses", "Level 1 data cache misses of loads.",
	  "Intel: lines brought in (L1D.REPLACEMENT)\nAMD Zen: requests of the data cache to L2\n"
	  "ARM: L1D_CACHE_REFILL, stores too on most cores"),
    CACHE(103, "l1i_load_misses", L1I, READ, MISS, "misses", "Level 1 instruction cache misses.",
	  "Intel: ICACHE misses\nAMD Zen: instruction cache misses (0x81)\nARM: L1I_CACHE_REFILL"),
    CACHE(104, "llc_loads", LL, READ, ACCESS, "loads", "Last level cache loads.",
	  "Intel: OFFCORE_RESPONSE\nAMD Zen: none\nARM: LL_CACHE_RD where the core has it"),
    CACHE(105, "llc_load_misses", LL, READ, MISS, "misses", "Last level cache misses of loads.",
	  "Intel: OFFCORE_RESPONSE\nAMD Zen: none\nARM: LL_CACHE_MISS_RD where the core has it"),
    CACHE(106, "dtlb_loads", DTLB, READ, ACCESS, "lookups", "Data TLB lookups of loads.",
	  "Intel: loads retired\nAMD Zen: misses of the first level, that asked the second\nARM: "
	  "L1D_TLB where the core has it"),
    CACHE(107, "dtlb_load_misses", DTLB, READ, MISS, "misses", "Data TLB misses of loads.",
	  "Intel: page walks completed\nAMD Zen: misses of both levels\nARM: L1D_TLB_REFILL"),
    CACHE(108, "itlb_loads", ITLB, READ, ACCESS, "lookups", "Instruction TLB lookups.",
	  "Intel and AMD Zen: misses of the first level that hit the second\nARM: L1I_TLB where "
	  "the core has it"),
    CACHE(109, "itlb_load_misses", ITLB, READ, MISS, "misses", "Instruction TLB misses.",
	  "Intel: page walks completed\nAMD Zen: misses of both levels\nARM: L1I_TLB_REFILL"),
    HARDWARE(110, "stalled_cycles_frontend", NULL, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "cycles",
	     "Cycles in which the front end delivered nothing: on AMD and ARM, not on Intel since "
	     "Haswell."),
    HARDWARE(
	111, "stalled_cycles_backend", NULL, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "cycles",
	"Cycles in which the back end took nothing: on ARM and on AMD before Zen 2, not on Intel "
	"since Haswell."),
};

/* Which software events honour os and user alone (kernel/events/core.c): perf_swevent_match() calls
 * perf_exclude_event(), which tests the mode of the interrupted registers before it counts or
 * samples. Switches and migrations happen in the kernel, so user alone would always be 0. Clocks
 * count all time, but perf_swevent_hrtimer() calls perf_exclude_event() for each sample. */
static const struct event_row software_rows[] = {
    CLOCK(1, "cpu_clock", PERF_COUNT_SW_CPU_CLOCK,
	  "Time on this CPU, busy or idle, by its high-resolution timer."),
    CLOCK(2, "task_clock", PERF_COUNT_SW_TASK_CLOCK,
	  "Time of the task; for a whole CPU, as here, the same as wall time."),
    SOFTWARE(3, "page_faults", NULL, PERF_COUNT_SW_PAGE_FAULTS, "faults", ANY,
	     "Page faults, minor and major."),
    SOFTWARE(4, "context_switches", NULL, PERF_COUNT_SW_CONTEXT_SWITCHES, "switches",
	     EVENT_ALONE_OS, "Context switches."),
    SOFTWARE(5, "cpu_migrations", NULL, PERF_COUNT_SW_CPU_MIGRATIONS, "migrations", EVENT_ALONE_OS,
	     "Tasks that moved to this CPU from another."),
    SOFTWARE(6, "minor_faults", "page_faults_min", PERF_COUNT_SW_PAGE_FAULTS_MIN, "faults", ANY,
	     "Page faults that needed no disk."),
    SOFTWARE(7, "major_faults", "page_faults_maj", PERF_COUNT_SW_PAGE_FAULTS_MAJ, "faults", ANY,
	     "Page faults that waited for a disk."),
    SOFTWARE(8, "alignment_faults", NULL, PERF_COUNT_SW_ALIGNMENT_FAULTS, "faults", ANY,
	     "Unaligned accesses that the kernel had to mend (never on x86)."),
    SOFTWARE(9, "emulation_faults", NULL, PERF_COUNT_SW_EMULATION_FAULTS, "faults", ANY,
	     "Instructions that the kernel emulated."),
    SOFTWARE(10, "dummy", NULL, PERF_COUNT_SW_DUMMY, "events", 0,
	     "Counts nothing: a placeholder of the kernel's."),
    SOFTWARE(11, "bpf_output", NULL, PERF_COUNT_SW_BPF_OUTPUT, "events", 0,
	     "Counts nothing: carries the output of BPF programs."),
    SOFTWARE(12, "cgroup_switches", NULL, PERF_COUNT_SW_CGROUP_SWITCHES, "switches", EVENT_ALONE_OS,
	     "Context switches to a task of another cgroup (Linux 5.13)."),
};

static const struct event_maker *const arch_makers[] = {&event_armv8_maker};
static const struct event_maker *const model_makers[] = {&event_pfm_maker, &event_raw_maker};

const struct event_group event_fixed_group = {
    .name = "fixed",
    .description = "Events that CPUs count in counters of their own.",
    .id = EVENT_GROUP_FIXED,
    .is_perf = true,
    .rows = fixed_rows,
    .nr_rows = NR(fixed_rows),
};

const struct event_group event_arch_group = {
    .name = "arch",
    .description = "Events common to all CPUs of an architecture.",
    .id = EVENT_GROUP_ARCH,
    .is_perf = true,
    .rows = arch_rows,
    .nr_rows = NR(arch_rows),
    .makers = arch_makers,
    .nr_makers = NR(arch_makers),
};

const struct event_group event_model_group = {
    .name = "model",
    .description = "Events of this CPU model, in its vendor's names, and raw encodings.",
    .id = EVENT_GROUP_MODEL,
    .is_perf = true,
    .makers = model_makers,
    .nr_makers = NR(model_makers),
};

const struct event_group event_software_group = {
    .name = "software",
    .description = "Events that the kernel itself counts; they need no PMU.",
    .id = EVENT_GROUP_SOFTWARE,
    .is_perf = true,
    .rows = software_rows,
    .nr_rows = NR(software_rows),
};
