/*
 * The tables of fixed, arch and software events. On Linux the kernel chooses the counter: each
 * row names the kernel's generic event, so fixed:X and arch:X count the same thing.
 */
#include "event/event.h"

#include <linux/perf_event.h>

#define NR(a) (sizeof(a) / sizeof((a)[0]))
#define ANY   (EVENT_ALONE_OS | EVENT_ALONE_USER)

#define HARDWARE(number_, name_, alias_, kernel, unit_, text)                                      \
	{                                                                                          \
		.name = name_, .alias = alias_, .number = number_, .kind = EVENT_COUNT,            \
		.scope = EVENT_SCOPE_CPU, .alone = ANY, .unit = unit_, .source = #kernel,          \
		.description = text, .perf_type = PERF_TYPE_HARDWARE, .perf_config = kernel        \
	}

#define SOFTWARE(number_, name_, alias_, kernel, unit_, alone_, text)                              \
	{                                                                                          \
		.name = name_, .alias = alias_, .number = number_, .kind = EVENT_COUNT,            \
		.scope = EVENT_SCOPE_CPU, .alone = alone_, .unit = unit_, .source = #kernel,       \
		.description = text, .perf_type = PERF_TYPE_SOFTWARE, .perf_config = kernel        \
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
	     "References to the last level cache, as the kernel maps them for this CPU."),
    HARDWARE(5, "llc_misses", NULL, PERF_COUNT_HW_CACHE_MISSES, "misses",
	     "Misses of the last level cache, as the kernel maps them for this CPU."),
    HARDWARE(6, "branch_instructions_retired", "branches_retired",
	     PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branches", "Branch instructions retired."),
    HARDWARE(7, "branch_misses_retired", NULL, PERF_COUNT_HW_BRANCH_MISSES, "misses",
	     "Mispredicted branches retired."),
};

/* What honours os and user: perf_swevent_event() and perf_exclude_event() in
 * kernel/events/core.c look at the mode of the interrupted registers. Switches and migrations
 * happen in the kernel, so that user alone would count 0; the clocks do not look at it. */
static const struct event_row software_rows[] = {
    SOFTWARE(1, "cpu_clock", NULL, PERF_COUNT_SW_CPU_CLOCK, "ns", 0,
	     "Time on this CPU, busy or idle, by its high-resolution timer."),
    SOFTWARE(2, "task_clock", NULL, PERF_COUNT_SW_TASK_CLOCK, "ns", 0,
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
};

const struct event_group event_software_group = {
    .name = "software",
    .description = "Events that the kernel itself counts; they need no PMU.",
    .id = EVENT_GROUP_SOFTWARE,
    .is_perf = true,
    .rows = software_rows,
    .nr_rows = NR(software_rows),
};
