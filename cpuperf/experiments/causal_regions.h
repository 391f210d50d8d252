/*
 * Regions of marks as candidates (--causal=regions): the time of threads on a CPU while a region of
 * that name is open on them, with all that is called there. Which there are the program says while
 * it runs; so there is room for as many as fit into the memory, and names come later.
 *
 * A region belongs to the thread that begins it. One that ends in another thread, or is left open,
 * is not tried: nothing says when it was over in its own.
 */
#ifndef CPUPERF_CAUSAL_REGIONS_H
#define CPUPERF_CAUSAL_REGIONS_H

#include "base/arena.h"
#include "experiments/causal_memory.h"

struct err;

/* Adds the room. 0 or -ENOMEM. */
int causal_regions_add(struct causal_candidates *out);
/* Names those that have begun by now, after causal_shared_times; of those that do not match the
 * glob, or were left open, the time is 0. Strings are of the arena. */
void causal_regions_look(const struct causal_shared *s, const char *glob, struct arena *strings,
			 struct causal_candidates *c);
/* What the program is known to have written. */
struct causal_regions_marks {
	bool has_any;
	uint64_t nr_lost;
};

/* None has a time: -ENODATA with *e, which says why, and a hint. */
int causal_regions_refuse(const struct causal_candidates *c, const char *glob,
			  const struct causal_regions_marks *marks, const char *subject,
			  struct err *e);
/* Warns of those that match and were left open, and of marks that were lost. */
void causal_regions_warn(const struct causal_candidates *c, const char *glob, uint64_t nr_lost);

#endif
