/*
 * One raw reading of one event, as it was taken and as a trace stores it. What
 * recording gives and reporting takes; nothing here is scaled or rounded.
 */
#ifndef BASE_READING_H
#define BASE_READING_H

#include <stdbool.h>
#include <stdint.h>

/* Why there is or is no number. The order is the one of the trace format: only append. */
enum reading_state {
	READING_NONE = 0,    /* not of this CPU, or not read */
	READING_OK = 1,      /* raw (and the rest) hold */
	READING_OFFLINE = 2, /* raw holds, but the CPU went away: the last value before that */
	READING_NOT_SUPPORTED = 3, /* the machine or the kernel cannot count it */
	READING_NO_PERMISSION = 4,
	READING_LIMIT = 5,  /* out of descriptors or memory */
	READING_FAILED = 6, /* was open, could not be read */
	READING_NR_STATES
};

/* "ok", "offline", "not supported", "no permission", "limit reached", "failed"; "unknown state". */
const char *reading_state_name(uint32_t state);

/* Of a thing (a disk, a process …): it was there before the iteration began; it is there and has no
 * number, which is not said of its event. */
enum { READING_OLD = 1, READING_OF_THING = 2 };

struct reading {
	uint32_t event;                  /* index in the session's events */
	uint32_t instance;               /* 0; else which device, process … of the event */
	uint32_t state;                  /* enum reading_state */
	uint32_t flags;                  /* READING_OLD, READING_OF_THING */
	uint64_t time_ns;                /* CLOCK_MONOTONIC when it was really read */
	uint64_t raw;                    /* counter or gauge, as the kernel gave it */
	uint64_t enabled_ns, running_ns; /* perf events: cumulative; misc: 0 */
	uint64_t base; /* what raw is a share of (cumulative); 0 where it is no share */
};

/* Of an event of many things: it is one of theirs, and does not say why the event is not measured.
 */
static inline bool reading_is_of_thing(const struct reading *r)
{
	return r->state == READING_OK || (r->state != READING_NONE && r->flags & READING_OF_THING);
}

/* How an event's numbers are to be read: shared by catalogue, trace and reports. */
enum event_kind {
	EVENT_COUNT = 1, /* cumulative: the difference of two readings counts */
	EVENT_VALUE = 2, /* instantaneous */
	EVENT_SHARE = 3, /* cumulative, shown as 100 × Δraw / Δbase, in percent */
};
enum event_scope {
	EVENT_SCOPE_CPU = 1,     /* each CPU */
	EVENT_SCOPE_SYSTEM = 2,  /* the machine: in trace 0 */
	EVENT_SCOPE_PACKAGE = 3, /* one CPU of each package, by the PMU's cpumask */
	EVENT_SCOPE_THINGS =
	    4, /* each of many things (disks, processes …): in trace 0, by instance */
};

#endif
