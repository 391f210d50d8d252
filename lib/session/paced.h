/*
 * Readings between two boundaries: misc events and events that are opened alone, at the timebase's
 * pace or, with the key every, at paces of their own. A thread reads them (pacer.h), so that a slow
 * disk delays no reading of another kind; a queue (ticks.h) stores them for the files. Sources that
 * sample at rates of their own (every_ns of struct source_values) have queues themselves; theirs is
 * emptied into another one here.
 *
 * One thread has a deadline for each pace and reads once what is due together. A tally has this
 * thread too if an event has a pace of its own; its trace, which is written at once, gets what
 * waits in the queue.
 */
#ifndef SESSION_PACED_H
#define SESSION_PACED_H

#include "session/pacer.h"
#include "session/things.h"
#include "session/ticks.h"

struct counters;
struct notes;
struct sampler;

/* Cumulative, of one pace: deadlines at which was read, and others. */
struct paced_counts {
	uint64_t taken, missed;
};

/* One pace: at the start of the iteration, and at its end. */
struct paced_pace {
	uint64_t every_ns; /* of the spec; 0: the timebase's */
	struct paced_counts before, now;
};

struct paced {
	const struct counters *counters; /* borrowed */
	const struct sampler *samplers;  /* borrowed; per CPU; NULL: there is no timebase */
	struct pacer pacer;
	struct ticks ticks;
	struct ticks samples;         /* of sources with rates of their own; one trace, the first */
	struct pacer_pace *deadlines; /* owned, like all below; per pace */
	struct paced_pace *paces;
	size_t nr_paces;
	size_t *pace_of; /* per event of the plan; SIZE_MAX: it is read at boundaries only */
	struct ticks_dropped dropped_before, dropped;

	/* under the pacer's lock */
	bool is_paused;                   /* between two windows */
	bool *is_due;                     /* per event of the plan: at this tick */
	uint64_t *ticked_ns;              /* per event of the plan: its last tick */
	struct reading *scratch, *picked; /* nr_parts of the plan */
	uint64_t ring_head;               /* of the first CPU's ring, at the last tick */
	uint64_t boundary_ns;             /* the last boundary */
	uint64_t next_ns;                 /* when the next one is due; UINT64_MAX: not known */
	struct session_things things;     /* of the last tick */
};

/* Memory only. 0 or -errno; then nothing is owned. */
int paced_init(struct paced *p, const struct counters *counters);
void paced_fini(struct paced *p); /* zeroes are fine */

/* Starts the thread, if there is anything to read; paces begin with the session. 0 or -errno. */
int paced_start(struct paced *p, uint64_t start_ns);
void paced_stop(struct paced *p); /* nothing if it does not run */
bool paced_is_running(const struct paced *p);
/* Sets the paces that the plan has now. Call it with the lock. */
void paced_set_pace(struct paced *p);
/* Reads nothing until this is undone. Call it with the lock. */
void paced_pause(struct paced *p, bool is_paused);

/* Must be held when misc events are read elsewhere. */
void paced_lock(struct paced *p);
void paced_unlock(struct paced *p);
/* Call while a boundary is read, under the lock: later ticks belong to the next iteration. */
void paced_boundary(struct paced *p, uint64_t boundary_ns);
/* When the next boundary is due, by CLOCK_MONOTONIC; UINT64_MAX: not known. Call it with the lock.
 */
void paced_expect(struct paced *p, uint64_t boundary_ns);
/* Whether a source samples at a rate of its own. */
bool paced_has_samples(const struct paced *p);
/* Takes what such sources sampled up to that time. waits: until all of it is there, but not long.
 */
void paced_take_samples(struct paced *p, uint64_t until_ns, bool waits);
/* Call after paced_take_samples: makes the newest sample of each thing that its reading at the
 * boundary, with the sample's time; no number if none is later than from_ns. */
void paced_settle(const struct paced *p, struct session_things *things, uint64_t from_ns);
/* Drops samples that were taken and not written, up to that time. */
void paced_drop_samples(struct paced *p, uint64_t until_ns);
/* Adds the readings of their clocks up to that time to what the writer has gathered. False if there
 * are none. */
bool paced_write_clocks(struct paced *p, struct trace_writer *w, uint64_t until_ns);
/* Drops what was read up to the last boundary. */
void paced_drop(struct paced *p);
/* Deadlines of all paces in the iteration: at which was read, and others. */
struct paced_counts paced_counts(const struct paced *p);
/* Adds notes on missing readings of the iteration. */
void paced_note_missing(const struct paced *p, uint32_t iteration, struct notes *notes);
/* Call after the iteration is recorded. */
void paced_next_iteration(struct paced *p);

#endif
