/*
 * The misc events of a session that collect/ reads: from the plan to their collectors, and from
 * these to the readings of each CPU.
 */
#ifndef SESSION_MISC_H
#define SESSION_MISC_H

#include "base/reading.h"
#include "collect/collect.h"
#include "session/session.h"

struct misc {
	const struct plan *plan;            /* borrowed */
	const struct session_event *states; /* borrowed; per event of the plan */
	struct event *events;               /* owned; those of the plan, in its order */
	struct collect_choice *choices;     /* owned; which things each event is about */
	size_t *places;                     /* owned; of each event in the plan */
	size_t nr;
	struct collect *collect; /* owned */
};

/* Opens the collectors and fills the states of their events. 0 or -errno with *e; also after a
 * failure misc_close frees what is owned. */
int misc_open(struct misc *m, const struct plan *plan, struct session_event *states,
	      uint32_t nr_cpus, struct err *e);
void misc_close(struct misc *m); /* zeroes are fine */

/* Copies what collect_read read last for the CPU into out, which has a place for each part of the
 * plan. False if /proc does not list the CPU: it is offline. */
bool misc_get(const struct misc *m, uint32_t trace, uint32_t cpu, struct reading *out);
/* Drops from out the readings of the CPU alone: they start with its perf events when it is back. */
void misc_drop_cpu(const struct misc *m, struct reading *out);

#endif
