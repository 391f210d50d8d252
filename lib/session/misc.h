/*
 * The misc events of a session that collect/ reads: from the plan to their collectors, and from
 * these to readings per CPU.
 */
#ifndef SESSION_MISC_H
#define SESSION_MISC_H

#include "base/reading.h"
#include "collect/collect.h"
#include "session/session.h"

struct misc {
	const struct plan *plan;            /* borrowed */
	const struct session_event *states; /* borrowed; per event of the plan */
	struct event *events;               /* owned; the plan's, in its order */
	struct things_choice *choices;      /* owned; the things selected per event */
	struct things_tree tree;            /* the target's processes */
	size_t *places;                     /* owned; each event's index in the plan */
	size_t nr;
	struct collect *collect; /* owned */
};

/* Opens the collectors and fills the states of their events. 0 or -errno with *e; call misc_close
 * also after a failure. */
int misc_open(struct misc *m, const struct plan *plan, struct session_event *states,
	      uint32_t nr_cpus, struct err *e);
void misc_close(struct misc *m); /* zeroes are fine */
/* Where the event at that place of the plan is read, as of collect_way. */
const char *misc_way(const struct misc *m, size_t place);
/* Of an event that is sampled at a rate of its own (collect_has_samples), the time between two
 * samples; of others 0. */
uint64_t misc_samples_every_ns(const struct misc *m, size_t place);

/* Copies the last readings of collect_read for the CPU into out[nr_parts]. False if /proc does not
 * list the CPU: it is offline. */
bool misc_get(const struct misc *m, uint32_t trace, uint32_t cpu, struct reading *out);
/* Drops the CPU's own readings from out: they start again with its perf events. */
void misc_drop_cpu(const struct misc *m, struct reading *out);

#endif
