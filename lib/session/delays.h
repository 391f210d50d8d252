/*
 * How long threads of the target have waited for a CPU so far, by /proc, for waits that are found
 * by records of switches: these do not show when a blocked thread was woken. Threads are read that
 * were switched in since the last reading, if they still exist. One thread uses it.
 *
 * They are read at each emptying of the rings, into readings of the target's trace
 * (READING_OF_THREAD).
 */
#ifndef SESSION_DELAYS_H
#define SESSION_DELAYS_H

#include "base/reading.h"
#include "pmu/scan.h"

#include <stdbool.h>
#include <stddef.h>

struct root;

/* At most so many threads are read at a time; the waits of others stay undivided. */
enum { DELAYS_MAX = 512 };

struct delays {
	const struct root *root; /* borrowed */
	uint32_t event;          /* index in the plan: of a wait; UINT32_MAX: nothing is read */
	struct pmu_scan_tids tids;
	uint32_t waiting[DELAYS_MAX]; /* threads to read */
	size_t nr;
	struct reading readings[DELAYS_MAX]; /* not written yet */
	size_t nr_readings;
};

/* A reading of the thread, without its event. False: it cannot be read. */
bool delays_read_thread(const struct root *root, uint32_t tid, struct reading *out);
/* The thread is among those of the next reading. */
void delays_add(struct delays *d, uint32_t tid);
/* Adds a reading that was made elsewhere, if it fits. */
void delays_put(struct delays *d, const struct reading *r);
/* Reads the threads that were added or were switched in; adds to readings as many as fit. */
void delays_read(struct delays *d);

#endif
