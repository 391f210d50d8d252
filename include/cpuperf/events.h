/*
 * libcpuperf: the events that can be measured here, and what they are.
 */
#ifndef CPUPERF_EVENTS_H
#define CPUPERF_EVENTS_H

#include "cpuperf/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A list of events. One thread at a time. */
struct cpuperf_events;

/* Lists all events as cpuperf --list-events does: groups in order, names in byte order. pattern: a
 * shell glob over "name" and "group:name"; NULL: all. */
CPUPERF_PUBLIC int cpuperf_events_open(struct cpuperf_events **out, const char *pattern,
				       struct cpuperf_error *e);
/* NULL is fine. */
CPUPERF_PUBLIC void cpuperf_events_close(struct cpuperf_events *events);

CPUPERF_PUBLIC size_t cpuperf_events_nr(const struct cpuperf_events *events);
/* Event i, valid as long as the list; NULL: there are not so many. The first call for an event
 * finds out whether it works on whole CPUs (opening it for a moment); of threads, counters that are
 * opened say whether they can be counted. */
CPUPERF_PUBLIC const struct cpuperf_event *cpuperf_events_at(struct cpuperf_events *events,
							     size_t i);
/* The event that cpuperf_spec_add would add for this name, if it is listed; NULL: none. */
CPUPERF_PUBLIC const struct cpuperf_event *cpuperf_events_find(struct cpuperf_events *events,
							       const char *name);

#ifdef __cplusplus
}
#endif

#endif
