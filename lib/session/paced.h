/*
 * Readings between two boundaries, at the timebase's pace: misc events and events that are opened
 * alone. A thread reads them (pacer.h), so that a slow disk delays none; a queue (ticks.h) stores
 * them for the files.
 */
#ifndef SESSION_PACED_H
#define SESSION_PACED_H

#include "session/pacer.h"
#include "session/things.h"
#include "session/ticks.h"

struct counters;
struct notes;
struct sampler;

/* Cumulative; deadlines of the pace, and readings. */
struct paced_counts {
	uint64_t taken, missed;
	struct ticks_dropped dropped;
};

struct paced {
	const struct counters *counters; /* borrowed */
	const struct sampler *samplers;  /* borrowed; per CPU */
	struct pacer pacer;
	struct ticks ticks;
	struct paced_counts before, now; /* at the start of the iteration, at its end */

	/* under the pacer's lock */
	struct reading *scratch, *picked; /* owned; nr_parts of the plan */
	uint64_t ring_head;               /* of the first CPU's ring, at the last tick */
	uint64_t ticked_ns;               /* the last tick */
	uint64_t boundary_ns;             /* the last boundary */
	struct session_things things;     /* of the last tick */
};

/* Memory only. 0 or -errno; then nothing is owned. */
int paced_init(struct paced *p, const struct counters *counters, const struct sampler *samplers);
void paced_fini(struct paced *p);

/* True if there is anything to read. */
bool paced_has_events(const struct counters *counters);
/* Starts the thread. 0 or -errno. */
/* Sets the pace that the plan has now. Call it with the lock. */
void paced_set_pace(struct paced *p);
int paced_start(struct paced *p);
void paced_stop(struct paced *p); /* nothing if it does not run */

/* Must be held when misc events are read elsewhere. */
void paced_lock(struct paced *p);
void paced_unlock(struct paced *p);
/* Call while a boundary is read, under the lock: later ticks belong to the next iteration. */
void paced_boundary(struct paced *p, uint64_t boundary_ns);
/* Adds notes on missing readings of the iteration. */
void paced_note_missing(const struct paced *p, uint32_t iteration, struct notes *notes);
/* Call after the iteration is recorded. */
void paced_next_iteration(struct paced *p);

#endif
