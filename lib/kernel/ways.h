/*
 * The ways in which events of the kernel's scheduler and latencies can be measured. Programs in
 * the kernel measure all of them. Where these cannot be loaded, records of the switches of a
 * target's tasks yield its sampled waits: they need no more rights than any event of its tasks.
 * Tables here say what one way cannot measure, and why.
 */
#ifndef KERNEL_WAYS_H
#define KERNEL_WAYS_H

#include "plan/plan.h"

#include <stdbool.h>

/* Why records of switches cannot measure something, and what to do. */
struct ways_refusal {
	const char *why, *to_do; /* to_do: an order; "": nothing helps */
};

/* NULL: records of switches can measure the plan's event, which is one of group sched. */
const struct ways_refusal *ways_refuse_switches(const struct plan *plan,
						const struct plan_event *p);
/* True if records of switches can measure an event of the plan. */
bool ways_have_switches(const struct plan *plan);
/* Adds to why programs cannot measure the event why records of switches cannot. */
void ways_explain(const struct plan *plan, const struct plan_event *p, struct event_support *out);

/* Without a plan, whether an event of the group sched or latency works, and in which way. programs:
 * whether its programs can be loaded; opened: whether a perf event of each CPU can be opened;
 * has_switches: switches of this user's tasks can be recorded. Returns the way, a phrase; "": it
 * does not work. */
const char *ways_check(const struct event *ev, const struct event_support *programs,
		       const struct event_support *opened, bool has_switches,
		       struct event_support *out);

#endif
