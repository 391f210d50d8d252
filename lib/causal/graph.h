/*
 * What the end of a program owes to each function: its recorded events in the order of time,
 * replayed with a part of some time cut. Arithmetic alone: no clocks, files or names.
 *
 * Each thread has an amount of time by which it is earlier than it was recorded. Time on a CPU that
 * is cut adds to it. A thread that was blocked until another one woke it cannot be earlier than
 * that one, and cannot save more than it waited. A new thread is as early as who made it. What ends
 * a wait from outside (a timer, a device, another program) takes as long as it did.
 *
 * Threads that wait for each other (a barrier) meet: whoever wakes the others came last. Cut short,
 * it may no longer be the last: so all go on when the last of them would have come. Who waits for
 * the end of a thread that it made waits for those that had ended before, too.
 *
 * What this cannot know: any other wait that did not happen, but would if something else were
 * faster (a stage of a pipeline that was never the slowest: what is predicted is then the most that
 * can be saved); and who would have run where threads waited for a CPU.
 */
#ifndef CAUSAL_GRAPH_H
#define CAUSAL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct causal_graph;

enum causal_kind {
	CAUSAL_RAN,     /* ns on a CPU, of the mark */
	CAUSAL_QUEUED,  /* ns for a CPU */
	CAUSAL_WOKEN,   /* ns blocked, until other woke it */
	CAUSAL_MET,     /* the same, at a meeting */
	CAUSAL_JOINED,  /* the same, until other had ended */
	CAUSAL_LATER,   /* ns blocked, until a timer or a device ended it */
	CAUSAL_UNKNOWN, /* ns blocked, until something ended it */
	CAUSAL_MADE,    /* other made it */
	CAUSAL_ENDED,
};

struct causal_event {
	uint64_t time_ns; /* when it ended */
	uint64_t ns;
	uint32_t thread, other; /* tids */
	uint32_t mark;
	enum causal_kind kind;
};

/* The shares of time that are cut, 0 to 1. */
struct causal_cut {
	const double *ran; /* by mark; NULL: none */
	size_t nr;         /* of ran; of higher marks nothing is cut */
	double ran_all;    /* of all marks, if ran is NULL */
	double queued, later, unknown;
};

enum { CAUSAL_MAX_EVENTS = 4 << 20 };

struct causal_graph *causal_new(void);    /* NULL: no memory */
void causal_free(struct causal_graph *g); /* NULL is fine */
/* In any order. 0, -ENOMEM, or -EFBIG beyond CAUSAL_MAX_EVENTS. */
int causal_add(struct causal_graph *g, const struct causal_event *e);
/* Call once, after the last event. 0 or -ENOMEM. */
int causal_order(struct causal_graph *g);
/* By how many ns the thread of that tid is earlier at its last event than it was. 0: also of a
 * thread without events. */
double causal_saved(struct causal_graph *g, const struct causal_cut *cut, uint32_t thread);

#endif
