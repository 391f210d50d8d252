/*
 * Readings at a fixed pace within an iteration, for display: what was counted since the one
 * before. Files contain nothing of them.
 *
 * An answered session (of a command, or one iteration of processes) has no end of an iteration to
 * show while it lasts. So it is read between boundaries, once a second, for the dashboard and for
 * metrics with limits: one beyond its limit triggers the snapshot of a flight recorder
 * (session_trigger).
 */
#ifndef SESSION_LOOKS_H
#define SESSION_LOOKS_H

#include "session/counters.h"
#include "session/session.h"
#include "session/things.h"

struct looks {
	struct counters *counters; /* borrowed */
	uint64_t period_ns;
	uint64_t due_ns;              /* of the next one */
	struct session_iteration it;  /* the last one; its number counts looks */
	struct session_trace *traces; /* owned; per CPU */
	struct reading *readings;     /* owned; two sets, each with the parts of each CPU */
	struct session_things things[2];
	struct source_histograms histograms;
	unsigned last; /* the set of the last readings */
};

/* period_ns 0: there are none. 0 or -ENOMEM. */
int looks_init(struct looks *l, struct counters *c, uint64_t period_ns);
void looks_fini(struct looks *l);

/* At the start of an iteration, and at each look: reads. The caller holds the lock of what is read.
 */
void looks_read(struct looks *l);
/* What was counted between the last two calls of looks_read. */
const struct session_iteration *looks_last(const struct looks *l);

#endif
