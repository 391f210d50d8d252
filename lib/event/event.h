/*
 * Events that can be measured: rows of tables, from which list, description, checks and
 * documentation come. catalogue.h finds them by name.
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
struct host;

/* The original's numbers; ours follow. An event's id is group << 11 | number. */
enum event_group_id {
	EVENT_GROUP_ARCH = 1,
	EVENT_GROUP_FIXED = 2,
	EVENT_GROUP_MODEL = 3,
	EVENT_GROUP_MISC = 4,
	EVENT_GROUP_SOFTWARE = 5,
	EVENT_GROUP_TRACEPOINT = 6,
};

/* Which of the flags os and user may stand alone. Both together always mean all. */
enum { EVENT_ALONE_OS = 1, EVENT_ALONE_USER = 2 };

/* One thing to open for an event: an event counted by one PMU, on some CPUs. Most events have one
 * part; an event of a hybrid CPU has one per type of core, one of the memory has one per box. Each
 * has readings of its own; scaled by its own times, those of a CPU add up. */
struct event_part {
	const char *pmu; /* name in sysfs; "" where the kernel finds the PMU itself */
	uint32_t type;   /* perf_event_attr's fields */
	uint64_t config, config1, config2;
	const struct cpuset *cpus; /* the PMU's cpus or cpumask; NULL: everywhere */
};

/* One event, as a row of a group's table or made by an event_maker. */
struct event_row {
	const char *name;
	const char *alias; /* a second name for the same event, not listed; NULL */
	uint16_t number;   /* 1 … 2047, never reused; 0: made, the plan numbers it */
	enum event_kind kind;
	enum event_scope scope;
	unsigned alone;         /* EVENT_ALONE_… */
	unsigned alone_sampled; /* the same for its samples, where they can do more */
	const char *unit;       /* of what is shown: "instructions", "ns", "B", "%" */
	double scale;           /* what is shown = count × scale; 0 stands for 1 */
	const char *source;     /* the kernel's name of it, or the file it is read from */
	const char *description;
	const char *detail; /* more for --describe-event, lines without a final newline; NULL */
	const char *format; /* of a tracepoint: as trace_event.format has it; NULL */
	uint32_t perf_type; /* perf events of one part: attr.type and attr.config */
	uint64_t perf_config;
	const struct event_part *parts; /* perf events made elsewhere; NULL: the one above */
	uint32_t nr_parts;
	uint16_t collector, field; /* what is no perf event: for collect/ */
	const char *choice;        /* of many things: the key of the spec that picks some; NULL */
	const char *missing;       /* listed, but it cannot work on this machine: why; NULL */
};

struct catalogue;
struct event_group;

/* Makes rows when they are asked for: from libpfm4's tables, sysfs, tracefs. Rows, parts and
 * strings live in the catalogue's arena (or are constant). Needs catalogue.host and .arena; opens
 * files only through host->root. */
struct event_maker {
	/* The row of that name, in any case: 0; -ENOENT, with *e only if it knows why (a unit mask
	 * is missing, a modifier, an ambiguous name); -ENOMEM. */
	int (*find)(const struct catalogue *c, const char *name, const struct event_row **out,
		    struct err *e);
	/* Each row once, in any order. Stops at the first non-zero result and returns it. Rows for
	 * listing: to measure or describe an event, find it. (The tracepoints' ids and fields are
	 * read by find alone.) */
	int (*each)(const struct catalogue *c, int (*fn)(const struct event_row *row, void *arg),
		    void *arg);
};

struct event_group {
	const char *name, *description;
	enum event_group_id id;
	bool is_perf; /* its table's rows are opened with perf_event_open; else read by collect/ */
	const struct event_row *rows; /* any order */
	size_t nr_rows;
	const struct event_maker *const *makers; /* asked in order, behind the table */
	size_t nr_makers;
};

/* The groups whose rows are here. misc's rows belong to collect/: collect_misc_group. */
extern const struct event_group event_arch_group, event_fixed_group, event_software_group,
    event_model_group, event_tracepoint_group;

/* The makers of misc's hardware rows (uncore, energy, msr, cstates), for collect_misc_group. */
extern const struct event_maker event_uncore_maker;
/* Behind it: energy rows that are not there, with what they need. */
extern const struct event_maker event_energy_maker;

/* A found event: its row and its group. */
struct event {
	const struct event_group *group;
	const struct event_row *row;
};

uint32_t event_id(const struct event *ev);
/* Opened with perf_event_open, not read by collect/. */
bool event_is_perf(const struct event *ev);
/* One of the three that have a counter of their own where CPUs have such (Intel). */
bool event_may_be_fixed(const struct event *ev);
/* Which of os and user may stand alone: of a counted event, or of one that is sampled. */
unsigned event_alone(const struct event *ev, bool is_sampled);
/* The parts of a perf event, at least one. */
uint32_t event_nr_parts(const struct event *ev);
void event_part(const struct event *ev, uint32_t i, struct event_part *out);

/* Whether the event works here, as far as can be told without opening it. */
struct event_support {
	enum reading_state state; /* READING_OK or why not */
	char reason[256];         /* in words; "" */
	char hint[256];           /* what to do; "" */
};
void event_support_check(const struct host *h, const struct event *ev, unsigned flags,
			 struct event_support *out);

/* The same from the errno of an attempt to open it. */
void event_support_explain(const struct host *h, const struct event *ev, int error,
			   struct event_support *out);
/* The same of an event with these flags (the spec's), which may be what is refused. */
void event_support_explain_use(const struct host *h, const struct event *ev, unsigned flags,
			       int error, struct event_support *out);

struct perf_event_attr;

/* How a part is to be counted, and sampled if period or frequency is set. */
struct event_use {
	unsigned flags;         /* enum spec_flag */
	uint64_t period;        /* a sample each time it has occurred so often; 0: none */
	uint64_t frequency;     /* in place of a period: Hz, the kernel adapts the period */
	uint32_t stack_bytes;   /* user_stack: at most so many */
	unsigned branch_filter; /* last_branch: enum spec_branch; 0: any */
	bool shares_ring;  /* several sampling events write into one ring: samples name theirs */
	bool reads_group;  /* timebase with siblings: each sample holds the group's counts */
	bool shares_clock; /* counted in the group of a timebase: the kernel refuses two clocks */
	bool has_lost; /* the kernel knows PERF_FORMAT_LOST: read it, where it costs no sample */
	uint32_t wakeup_bytes; /* wake the reader when so many are in the ring */
};

/* The attr to open the part with, on the heap (mem_free it; NULL without memory): type, config
 * and the exclusions that the flags ask for; read format: group and times; sample format: TIME and
 * TID, then what the flags ask for (a tracepoint's fields too) and nothing else; clock:
 * CLOCK_MONOTONIC. */
struct perf_event_attr *event_attr_new(const struct event_part *part, const struct event_use *use);
/* The attr of an event that counts nothing and whose ring gets what became of tasks and mappings
 * (names, forks, exits, mmap, kernel symbols, BPF programs), with TID and TIME. level 0 asks for
 * all; each higher one leaves out what a younger kernel brought (build-ids, …), so that a kernel
 * that says EINVAL is asked with the next; NULL with level past the last or without memory. */
struct perf_event_attr *event_attr_side_band(unsigned level, uint32_t wakeup_bytes);
/* Its size in bytes, as its own size field tells. */
uint32_t event_attr_bytes(const struct perf_event_attr *attr);

/* The event is a clock (cpu_clock, task_clock): its count is a time in ns, its period too. */
bool event_is_clock(const struct event *ev);

#endif
