/*
 * Events that can be measured: table rows, from which list, description, checks and documentation
 * are made. catalogue.h finds them by name.
 *
 * Rows are those of a table (fixed, arch, software, misc), or made on demand by an event_maker
 * (catalogue.h): libpfm4's tables, raw forms, ARM's architectural events, uncore boxes, energy,
 * sensors, tracepoints. A row has parts: one per core type on a hybrid CPU, one per box of memory.
 * Each part has its own readings and running times; the scaled parts are added. Of a share the
 * whole is the second part, or the time in which the only part ran (engines of GPUs, gpu_pmu.c).
 *
 * The displayed value is count × scale (64 for cache lines as bytes, joules per unit, degrees per
 * millidegree). Traces store the raw count and the scale; an integer scale keeps counts exact.
 */
#ifndef EVENT_EVENT_H
#define EVENT_EVENT_H

#include "base/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct cpuset;
struct err;
struct event_probe;
struct functions_place;
struct host;

/* The numbers of Fuchsia's groups, then ours. An event's id is group << 11 | number. */
enum event_group_id {
	EVENT_GROUP_ARCH = 1,
	EVENT_GROUP_FIXED = 2,
	EVENT_GROUP_MODEL = 3,
	EVENT_GROUP_MISC = 4,
	EVENT_GROUP_SOFTWARE = 5,
	EVENT_GROUP_TRACEPOINT = 6,
	EVENT_GROUP_SCHED = 7,
	EVENT_GROUP_LATENCY = 8,
	EVENT_GROUP_USDT = 9,
	EVENT_GROUP_HEAP = 10,
	EVENT_GROUP_RESOURCE = 11,
	EVENT_GROUP_GPU = 12,
	EVENT_GROUP_FUNCTION = 13,
};

/* Which of the flags os and user an event honours alone. Both flags together always mean all. */
enum { EVENT_ALONE_OS = 1, EVENT_ALONE_USER = 2 };

/* What one perf_event_open call counts: an event of one PMU, on some CPUs. Most events have one
 * part; on a hybrid CPU an event has one per core type, a memory event one per box. Each part has
 * its own readings and running times; the scaled counts of a CPU's parts are summed. */
struct event_part {
	const char *pmu; /* name in sysfs; "" if the kernel chooses the PMU */
	uint32_t type;   /* perf_event_attr's fields */
	uint64_t config, config1, config2;
	const struct cpuset *cpus; /* the PMU's cpus or cpumask, borrowed; NULL: all CPUs */
};

/* One event: a row of a group's table, or made by an event_maker. */
struct event_row {
	const char *name;
	const char *alias; /* an unlisted second name; NULL */
	uint16_t number;   /* 1 … 2047, never reused; 0: the plan assigns one */
	enum event_kind kind;
	enum event_scope scope;
	enum event_total total; /* per-thing values */
	unsigned alone;         /* EVENT_ALONE_… */
	unsigned alone_sampled; /* EVENT_ALONE_… of its samples */
	const char *unit;       /* of the displayed value: "instructions", "ns", "B", "%" */
	double scale;           /* displayed value = count × scale; 0 means 1 */
	const char *source;     /* the kernel's name, or the path of the file */
	const char *description;
	const char *detail; /* further lines for --describe-event, no final newline; NULL */
	/* Tracepoints, functions (of calls that have ended): as in trace_event.format; NULL */
	const char *format;
	uint32_t perf_type; /* of a perf event of one part: attr.type and attr.config */
	uint64_t perf_config;
	/* NULL: one part, from perf_type and perf_config. Of a share, which the first counts, the
	 * second counts the whole; without a second the whole is the time in which it ran, in ns.
	 */
	const struct event_part *parts;
	uint32_t nr_parts;
	uint16_t collector,
	    field; /* of an event that is not a perf event: the source and field in collect/ */
	const char *choice; /* per-thing events: the spec key that selects things; NULL */
	const struct event_probe *probes; /* group usdt: its places; event/usdt.h */
	uint32_t nr_probes;
	const struct functions_place *functions; /* group function: functions/functions.h */
	uint32_t nr_functions;
	const char *omitted; /* which functions of that name are not measured, and why; NULL: none
			      */
	const char *danger;  /* why measuring it may break the program; NULL: it does not */
	const char *missing; /* why a listed event cannot work on this machine; NULL: it may */
};

struct catalogue;
struct event_group;

/* Makes rows on demand: from libpfm4's tables, sysfs, tracefs. Rows, parts and strings live in the
 * catalogue's arena or are constant. Requires catalogue.host and .arena; opens files only through
 * host->root. */
struct event_maker {
	/* Finds a row by name, ignoring case: 0; -ENOENT, with *e if the maker has a reason
	 * (missing unit mask, unknown modifier, ambiguous name); -ENOMEM. */
	int (*find)(const struct catalogue *c, const char *name, const struct event_row **out,
		    struct err *e);
	/* Calls fn once for each row, in any order. Stops at the first non-zero result and returns
	 * it. The rows are complete enough to list; call find before measuring or describing one.
	 * (Only find reads the ids and fields of tracepoints.) */
	int (*each)(const struct catalogue *c, int (*fn)(const struct event_row *row, void *arg),
		    void *arg);
};

struct event_group {
	const char *name, *description;
	enum event_group_id id;
	bool is_perf; /* table rows are opened with perf_event_open; else collect/ reads them */
	const struct event_row *rows; /* in any order */
	size_t nr_rows;
	const struct event_maker *const *makers; /* searched in order, after the table */
	size_t nr_makers;
};

/* Whose events are read at the pace of others, of the whole machine, and never sampled. */
static inline bool event_group_is_misc(const struct event_group *group)
{
	return group->id == EVENT_GROUP_MISC || group->id == EVENT_GROUP_GPU;
}

/* The groups defined in this room. Those of misc and gpu are in collect/. */
extern const struct event_group event_arch_group, event_fixed_group, event_software_group,
    event_model_group, event_tracepoint_group, event_sched_group, event_latency_group,
    event_usdt_group, event_heap_group, event_resource_group, event_function_group;

/* Makes the hardware rows of misc: uncore, energy, msr, cstates. */
extern const struct event_maker event_uncore_maker;
/* Follows it: energy rows that this machine does not publish, with the reason. */
extern const struct event_maker event_energy_maker;
/* Makes the rows of gpu that PMUs count: i915, xe. */
extern const struct event_maker event_gpu_pmu_maker;

/* A found event: its row and its group. */
struct event {
	const struct event_group *group;
	const struct event_row *row;
};

uint32_t event_id(const struct event *ev);
/* True if perf_event_open opens it, false if collect/ reads it. */
bool event_is_perf(const struct event *ev);
/* True for the three events that have fixed counters on Intel CPUs. */
bool event_may_be_fixed(const struct event *ev);
/* EVENT_ALONE_… of the event, counted or sampled. */
unsigned event_alone(const struct event *ev, bool is_sampled);
/* Number of parts of a perf event, at least one; and part i. */
uint32_t event_nr_parts(const struct event *ev);
void event_part(const struct event *ev, uint32_t i, struct event_part *out);

/* Whether the event works on this machine, as far as can be determined without opening it. */
struct event_support {
	enum reading_state state; /* READING_OK, or the reason's state */
	char reason[256];         /* "" if READING_OK, unless it works only partly */
	char hint[256];           /* what the user can do; "" */
};
/* "works", "works partly", "no permission" … */
const char *event_support_word(const struct event_support *s);
void event_support_check(const struct host *h, const struct event *ev, unsigned flags,
			 struct event_support *out);

/* Sets only the hint: what permits what a kernel.perf_event_paranoid of this level does. */
void event_support_hint_rights(const struct host *h, int paranoid, struct event_support *out);

/* Explains the errno of an attempt to open it. */
void event_support_explain(const struct host *h, const struct event *ev, int error,
			   struct event_support *out);
/* The same, for the spec's flags, which may be the cause. */
void event_support_explain_use(const struct host *h, const struct event *ev, unsigned flags,
			       int error, struct event_support *out);

struct perf_event_attr;

/* How a part is counted; sampled too if period or frequency is set. */
struct event_use {
	unsigned flags;  /* enum spec_flag */
	uint64_t period; /* events per sample; 0: none */
	uint64_t
	    frequency; /* samples per second in place of a period: the kernel adapts the period */
	uint32_t stack_bytes;   /* user_stack: the most bytes to copy */
	unsigned branch_filter; /* last_branch: enum spec_branch; 0: any */
	uint64_t max_stack;     /* callchain: the most addresses; 0: what the kernel allows */
	bool shares_ring;  /* several sampled events share the ring: samples carry an identifier */
	bool reads_group;  /* timebase with siblings: each sample carries the group's counts */
	bool shares_clock; /* counted in a timebase's group: the kernel refuses different clocks */
	bool has_lost; /* the kernel has PERF_FORMAT_LOST: use it where it adds no bytes to samples
			*/
	bool is_overwritten;   /* new samples replace the oldest in the ring */
	bool is_inherited;     /* by the tasks that the measured one creates */
	bool stays_in_process; /* inherited by its threads only */
	bool tells_clock;      /* of a clock or of a CPU: samples say which of the inherited ones */
	bool is_selected;      /* a clock: what is inherited counts, clocks of the CPUs sample */
	bool is_completed;     /* a clock: what has no sample is found by records of switches */
	bool is_by_switches;   /* a wait: nothing in the kernel samples it */
	bool is_of_ended;      /* calls of functions: samples are taken when they end */
	bool has_switches;     /* also records the switches of its tasks */
	uint32_t wakeup_bytes; /* wake the reader when the ring holds this much */
};

/* Allocates the attr to open the part with; free it with mem_free; NULL if out of memory. Sets
 * type, config and the exclusions of the flags. read_format: group and times. sample_type: TIME,
 * TID and what the flags ask for (for tracepoints RAW), nothing else. Clock: CLOCK_MONOTONIC. */
struct perf_event_attr *event_attr_new(const struct event_part *part, const struct event_use *use);
/* What is opened for an attr with is_selected: what counts, and the clock of a CPU that samples. */
struct perf_event_attr event_attr_counting(const struct perf_event_attr *attr);
struct perf_event_attr event_attr_sampling(const struct perf_event_attr *attr);
bool event_attr_is_selected(const struct perf_event_attr *attr);
/* Allocates the attr of a dummy event whose ring receives side-band records (comm, fork, exit,
 * mmap2, ksymbol, bpf_event), each with TID and TIME. level 0 requests all; each higher level drops
 * what newer kernels added: on EINVAL try the next. NULL past the last level or if out of memory.
 */
/* is_user_only: for who may not measure the kernel. */
struct perf_event_attr *event_attr_side_band(unsigned level, bool is_inherited, bool is_user_only,
					     uint32_t wakeup_bytes);
/* Allocates the attr of an event of a CPU through which a program in the kernel writes records: in
 * the layout of trace/interpreted.h. NULL: out of memory. */
struct perf_event_attr *event_attr_interpreted(bool is_overwritten, uint32_t wakeup_bytes);

/* attr->size. */
uint32_t event_attr_bytes(const struct perf_event_attr *attr);

/* The wait that the event measures (enum waits_kind of bpf/waits.h), in the group sched; -1: none.
 */
int event_wait(const struct event *ev);
/* A rate or a frequency can be asked for; whether it works here is another question. */
bool event_can_be_sampled(const struct event *ev);
/* What the event of the group latency measures: its enum latency_kind (bpf/latency.h), or that of
 * system calls plus their number; -1: of another group. */
enum {
	EVENT_LATENCY_RUN_QUEUE,
	EVENT_LATENCY_BLOCK,
	EVENT_LATENCY_IRQ,
	EVENT_LATENCY_SOFTIRQ,
	EVENT_LATENCY_SYSCALL
};
int event_latency(const struct event *ev);

/* What the event of the group heap, or resource, measures; -1: of another group. */
enum {
	EVENT_HEAP_ALLOCATED,
	EVENT_HEAP_ALLOCATIONS,
	EVENT_HEAP_FREED,
	EVENT_HEAP_LIVE,
	EVENT_HEAP_PEAK,
	EVENT_HEAP_MAX,
	EVENT_HEAP_TEMPORARY,
	EVENT_HEAP_LEAKED,
	EVENT_HEAP_OVERHEAD,
	EVENT_HEAP_RESIDENT,
	EVENT_HEAP_UNTOUCHED,
	EVENT_HEAP_PEAK_TIME,
	EVENT_HEAP_FD_OPENED,
	EVENT_HEAP_FD_LIVE,
	EVENT_HEAP_FD_LEAKED,
	EVENT_HEAP_IO_READ,
	EVENT_HEAP_IO_READ_CALLS,
	EVENT_HEAP_IO_WRITTEN,
	EVENT_HEAP_IO_WRITE_CALLS,
	EVENT_HEAP_THREAD_CREATED,
	EVENT_HEAP_THREAD_LIVE,
	EVENT_HEAP_EXCEPTION_THROWN,
	EVENT_HEAP_EXCEPTION_CAUGHT,
	EVENT_HEAP_LIFETIME,
	EVENT_HEAP_UNREACHABLE,
	EVENT_HEAP_CPU_TIME, /* PERF_ABI_HEAP_CPU_TIME */
	EVENT_HEAP_REAL_TIME,
	EVENT_HEAP_PATH_PEAK,
	EVENT_HEAP_NR_KINDS
};
int event_heap(const struct event *ev);
/* Whether it counts things, each exactly, and not bytes of memory. */
bool event_is_resource(const struct event *ev);
/* Whether it is a resource that is sampled by time: its rate is in ns, or a frequency. */
bool event_is_time(const struct event *ev);

/* True for an event of the group usdt. */
bool event_is_probe(const struct event *ev);

/* True for an event of the group function. */
bool event_is_function(const struct event *ev);

/* True for cpu_clock and task_clock, whose counts and periods are in ns. */
bool event_is_clock(const struct event *ev);

#endif
