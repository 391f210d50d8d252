/*
 * The tables of the groups fixed, arch and software. The kernel chooses the counter: each row names
 * a generic event, so fixed:X and arch:X count the same.
 */
#include "base/array.h"
#include "base/perf_abi.h"
#include "event/event.h"
#include "event/parts.h"

#define ANY (EVENT_ALONE_OS | EVENT_ALONE_USER)

/* generic.c has what the kernel counts for these on each model of CPU. */
#define HARDWARE(number, name, alias, kernel, unit, text)                                          \
	HARDWARE_DETAIL(number, name, alias, kernel, unit, text, NULL)
#define HARDWARE_DETAIL(number_, name_, alias_, kernel, unit_, text, detail_)                      \
	{                                                                                          \
		.name = name_, .alias = alias_, .number = number_, .kind = EVENT_COUNT,            \
		.scope = EVENT_SCOPE_CPU, .alone = ANY, .unit = unit_, .source = #kernel,          \
		.description = text, .detail = detail_, .perf_type = PERF_TYPE_HARDWARE,           \
		.perf_config = kernel                                                              \
	}

/* attr.config of generic cache events: perf_event_open(2). */
#define CACHE(number_, name_, cache, op, result, unit_, text)                                      \
	{                                                                                          \
		.name = name_, .number = number_, .kind = EVENT_COUNT, .scope = EVENT_SCOPE_CPU,   \
		.alone = ANY, .unit = unit_, .description = text,                                  \
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
    HARDWARE_DETAIL(3, "unhalted_reference_cycles", NULL, PERF_COUNT_HW_REF_CPU_CYCLES, "cycles",
		    "Cycles while the CPU was not halted, at a constant reference frequency.",
		    "Fuchsia's cpuperf counts 0x013c of Intel CPUs under this name: model:r013c."),
    HARDWARE(4, "llc_references", NULL, PERF_COUNT_HW_CACHE_REFERENCES, "references",
	     "Last level cache references, as the kernel maps them for this CPU."),
    HARDWARE(5, "llc_misses", NULL, PERF_COUNT_HW_CACHE_MISSES, "misses",
	     "Last level cache misses, as the kernel maps them for this CPU."),
    HARDWARE(6, "branch_instructions_retired", "branches_retired",
	     PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branches", "Branch instructions retired."),
    HARDWARE(7, "branch_misses_retired", NULL, PERF_COUNT_HW_BRANCH_MISSES, "misses",
	     "Mispredicted branches retired."),
    /* Numbers 32 to 63 are ARM's common events. */
    CACHE(101, "l1d_loads", L1D, READ, ACCESS, "loads", "Level 1 data cache loads."),
    CACHE(102, "l1d_load_misses", L1D, READ, MISS, "misses", "Level 1 data cache misses of loads."),
    CACHE(103, "l1i_load_misses", L1I, READ, MISS, "misses", "Level 1 instruction cache misses."),
    CACHE(104, "llc_loads", LL, READ, ACCESS, "loads", "Last level cache loads."),
    CACHE(105, "llc_load_misses", LL, READ, MISS, "misses", "Last level cache misses of loads."),
    CACHE(106, "dtlb_loads", DTLB, READ, ACCESS, "lookups", "Data TLB lookups of loads."),
    CACHE(107, "dtlb_load_misses", DTLB, READ, MISS, "misses", "Data TLB misses of loads."),
    CACHE(108, "itlb_loads", ITLB, READ, ACCESS, "lookups", "Instruction TLB lookups."),
    CACHE(109, "itlb_load_misses", ITLB, READ, MISS, "misses", "Instruction TLB misses."),
    HARDWARE(110, "stalled_cycles_frontend", NULL, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "cycles",
	     "Cycles in which the front end delivered nothing, where the CPU counts them."),
    HARDWARE(111, "stalled_cycles_backend", NULL, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "cycles",
	     "Cycles in which the back end accepted nothing, where the CPU counts them."),
};

/* Which software events honour os and user alone (kernel/events/core.c): perf_swevent_match() calls
 * perf_exclude_event(), which tests the mode of the interrupted registers before it counts or
 * samples. Switches and migrations happen in the kernel, so user alone would always be 0. Clocks
 * count all time, but perf_swevent_hrtimer() calls perf_exclude_event() for each sample. */
static const struct event_row software_rows[] = {
    CLOCK(1, "cpu_clock", PERF_COUNT_SW_CPU_CLOCK,
	  "Time on this CPU, busy or idle, by its high-resolution timer."),
    CLOCK(2, "task_clock", PERF_COUNT_SW_TASK_CLOCK,
	  "Time that the measured tasks ran; of a whole CPU, wall time."),
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

/* Measured by programs in the kernel (bpf/waits.h), which send their samples to an event
 * bpf_output; config1 says which wait, for the reader too. */
#define WAIT(number_, name_, kind_, unit_, text, detail_)                                          \
	{                                                                                          \
		.name = name_, .number = number_, .kind = EVENT_COUNT, .scope = EVENT_SCOPE_CPU,   \
		.unit = unit_, .source = "BPF: sched_switch, sched_wakeup", .description = text,   \
		.detail = detail_, .nr_parts = 1,                                                  \
		.parts = &(const struct event_part){.pmu = "",                                     \
						    .type = PERF_TYPE_SOFTWARE,                    \
						    .config = PERF_COUNT_SW_BPF_OUTPUT,            \
						    .config1 = PERF_ABI_WAIT + (kind_)},           \
	}
#define WAIT_DETAIL                                                                                \
	"A wait counts, and is sampled, in each iteration in which it lasts, on the CPU of its "   \
	"task.\n"                                                                                  \
	"rate: ns of waiting per sample; each ns is as likely to be sampled as any other.\n"       \
	"The sample's stack is that of the task that waited."
#define WAKER_DETAIL "\nflags: waker adds the stack of who woke it."

static const struct event_row sched_rows[] = {
    WAIT(1, "off_cpu_time", 0, "ns",
	 "Time that tasks were blocked: from the switch out to the wakeup.",
	 WAIT_DETAIL WAKER_DETAIL),
    WAIT(2, "run_queue_time", 1, "ns",
	 "Time that tasks waited for a CPU: from the wakeup, or the preemption, to the switch in; "
	 "by process also misc:process_run_delay.",
	 WAIT_DETAIL),
    WAIT(3, "wakeups", 2, "wakeups", "Blocked tasks that were woken up.", NULL),
};

static const struct event_maker *const arch_makers[] = {&event_armv8_maker};
static const struct event_maker *const model_makers[] = {&event_pfm_maker, &event_raw_maker};

const struct event_group event_fixed_group = {
    .name = "fixed",
    .description = "Events that CPUs count in counters of their own.",
    .id = EVENT_GROUP_FIXED,
    .is_perf = true,
    .rows = fixed_rows,
    .nr_rows = ARRAY_NR(fixed_rows),
};

const struct event_group event_arch_group = {
    .name = "arch",
    .description = "Events common to all CPUs of an architecture.",
    .id = EVENT_GROUP_ARCH,
    .is_perf = true,
    .rows = arch_rows,
    .nr_rows = ARRAY_NR(arch_rows),
    .makers = arch_makers,
    .nr_makers = ARRAY_NR(arch_makers),
};

const struct event_group event_model_group = {
    .name = "model",
    .description = "Events of this CPU model, in its vendor's names, and raw encodings.",
    .id = EVENT_GROUP_MODEL,
    .is_perf = true,
    .makers = model_makers,
    .nr_makers = ARRAY_NR(model_makers),
};

const struct event_group event_sched_group = {
    .name = "sched",
    .description = "How long tasks wait, measured by programs in the kernel (BPF).",
    .id = EVENT_GROUP_SCHED,
    .is_perf = true,
    .rows = sched_rows,
    .nr_rows = ARRAY_NR(sched_rows),
};

const struct event_group event_software_group = {
    .name = "software",
    .description = "Events that the kernel itself counts; they need no PMU.",
    .id = EVENT_GROUP_SOFTWARE,
    .is_perf = true,
    .rows = software_rows,
    .nr_rows = ARRAY_NR(software_rows),
};
