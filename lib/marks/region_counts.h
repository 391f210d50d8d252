/*
 * The counters of a thread with marks, for the counts of its regions: a group of the events that
 * the spec's region_counts names, opened here and sent to the thread, which reads it.
 *
 * The thread reads the group itself, by one read(2): so the program needs no rights, no sandbox
 * can refuse it, and it holds one descriptor a thread, with a high number, while the group's other
 * descriptors are the recorder's. Beginnings read counters before the time, ends after it. Where
 * the kernel lets user mode read all of them, the thread maps the page of each counter and reads
 * registers (rdpmc; on arm64 pmu/user.c requests it); a page without an index, as of a counter
 * that is not on this CPU, leads back to read(2). The right to read registers goes with the pages,
 * so only the thread unmaps its own, or another one when it has ended. What the marks themselves
 * count is tried by each object's first thread, printed, and subtracted on request.
 */
#ifndef MARKS_REGION_COUNTS_H
#define MARKS_REGION_COUNTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct plan;
struct plan_event;

enum { REGION_COUNTS_MAX = 8, REGION_COUNTS_NOTE_BYTES = 512 };

struct region_counts {
	const struct plan *plan; /* borrowed */
	const struct plan_event *events[REGION_COUNTS_MAX];
	const char *names[REGION_COUNTS_MAX]; /* their labels */
	uint32_t nr;
	/* Of events that cannot be counted here, which are left out: which and why. */
	char notes[REGION_COUNTS_MAX][REGION_COUNTS_NOTE_BYTES];
	uint32_t nr_notes;
	uint64_t nr_failed; /* threads whose counters could not be opened */
	int error;          /* why, of the first one: errno */
};

/* Finds the events, and tries which can be counted. 0 or -errno with *e: a name is that of no event
 * of the session, or of one that is not counted for a thread. */
int region_counts_init(struct region_counts *c, const struct plan *plan, struct err *e);
/* Opens the group of a thread. fds: its counters, the leader first, borrowed. NULL: it cannot be
 * opened. */
void *region_counts_open(struct region_counts *c, uint32_t tid, int *fds);
void region_counts_close(void *group);

#endif
