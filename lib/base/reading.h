/*
 * A raw reading of an event, as taken and as stored in a trace: not scaled or rounded.
 */
#ifndef BASE_READING_H
#define BASE_READING_H

#include <stdbool.h>
#include <stdint.h>

/* Whether there is a number, or why not. The values are in the trace format: only append. */
enum reading_state {
	READING_NONE = 0,          /* not on this CPU, or not read */
	READING_OK = 1,            /* raw and the other fields are valid */
	READING_OFFLINE = 2,       /* the CPU went offline; raw is the last value before */
	READING_NOT_SUPPORTED = 3, /* the machine or the kernel cannot count it */
	READING_NO_PERMISSION = 4,
	READING_LIMIT = 5,  /* out of descriptors or memory */
	READING_FAILED = 6, /* open, but could not be read */
	READING_NR_STATES
};

/* "ok", "offline", "not supported", "no permission", "limit reached", "failed"; "unknown state". */
const char *reading_state_name(uint32_t state);

/* Flags. For a thing (a disk, a process …), OLD: it existed before the iteration; OF_THING: only
 * this thing has no number, its event may have. DISABLED: the event was disabled on request since
 * the reading before. REST: no thing, but what all things lack. OF_THREAD: of run_queue_time, where
 * waits are found by records of switches: the instance is a thread, raw and enabled_ns are the
 * times for which it has waited for a CPU and run, running_ns is how often it was switched in.
 * ENDED: the thing has ended, and this is its last number. */
enum {
	READING_OLD = 1,
	READING_OF_THING = 2,
	READING_DISABLED = 4,
	READING_REST = 8,
	READING_OF_THREAD = 16,
	READING_ENDED = 32
};

struct reading {
	uint32_t event;                  /* index in the session's events */
	uint32_t instance;               /* 0, or the thing (device, process …) of the event */
	uint32_t state;                  /* enum reading_state */
	uint32_t flags;                  /* READING_OLD … */
	uint64_t time_ns;                /* CLOCK_MONOTONIC of the reading */
	uint64_t raw;                    /* counter or gauge, as the kernel returned it */
	uint64_t enabled_ns, running_ns; /* perf events: cumulative; misc: 0 */
	uint64_t base;                   /* raw is a share of this (cumulative); 0: not a share */
};

/* Whether the state is that of one thing, rather than of the event. */
static inline bool reading_is_of_thing(const struct reading *r)
{
	return r->state == READING_OK || (r->state != READING_NONE && r->flags & READING_OF_THING);
}

/* What the times of two readings of an event mean. */
enum reading_times {
	READING_TIMES_OF_CPU = 0, /* of the CPU, or the event has none */
	READING_TIMES_OF_TASKS,   /* it follows tasks, and was read on one CPU */
	READING_TIMES_OF_KERNEL,  /* the same, and the kernel counts it (no PMU) */
	READING_TIMES_OF_ANY_CPU, /* it follows tasks wherever they run */
};

/*
 * Changes the times of an event that follows tasks. On one CPU: it is enabled wherever they run, so
 * its time enabled is no base for what it counted on this CPU. On any CPU: it is enabled while they
 * run. Where they did not run, the count is 0 and whole, unless it may have lacked a counter.
 */
static inline void reading_set_times(struct reading *start, struct reading *end,
				     enum reading_times times)
{
	bool is_anywhere = times == READING_TIMES_OF_ANY_CPU;

	if (times == READING_TIMES_OF_CPU)
		return;
	if (start->running_ns == end->running_ns &&
	    (is_anywhere ? start->enabled_ns == end->enabled_ns : times == READING_TIMES_OF_KERNEL))
		start->enabled_ns = end->enabled_ns = start->running_ns = end->running_ns = 0;
	if (!is_anywhere) {
		start->enabled_ns = start->running_ns;
		end->enabled_ns = end->running_ns;
	}
}

/* How to interpret an event's numbers. */
enum event_kind {
	EVENT_COUNT = 1, /* cumulative: the difference of two readings is the count */
	EVENT_VALUE = 2, /* an instantaneous value */
	EVENT_SHARE = 3, /* cumulative, shown as 100 × Δraw / Δbase, in percent */
};
enum event_scope {
	EVENT_SCOPE_CPU = 1,     /* per CPU */
	EVENT_SCOPE_SYSTEM = 2,  /* per machine: in trace 0 */
	EVENT_SCOPE_PACKAGE = 3, /* per package, on the CPUs of the PMU's cpumask */
	EVENT_SCOPE_THINGS = 4,  /* per thing (disks, processes …): in trace 0, by instance */
};
/* How an instantaneous value of many things becomes one number. */
enum event_total {
	EVENT_TOTAL_SUM = 0,
	EVENT_TOTAL_MEAN = 1,    /* loads, frequencies: of those that have the value */
	EVENT_TOTAL_LARGEST = 2, /* temperatures */
};

#endif
