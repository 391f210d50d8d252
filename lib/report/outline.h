/*
 * The stacks of counts over time in the order of a walk: each frame before those that it called, of
 * these the one with most first. What is too small to be shown is one frame, "[merged]", in its
 * caller. Knows nothing of how it is written.
 */
#ifndef REPORT_OUTLINE_H
#define REPORT_OUTLINE_H

#include "report/slices.h"

#include <stdbool.h>

struct report_function;
struct report_stacks;

struct report_outline_node {
	const struct report_function *function; /* NULL: merged */
	uint32_t depth;                         /* from 1 */
	size_t first_count; /* of those that end here; the next node's is behind */
};

struct report_outline {
	struct report_outline_node *nodes; /* owned; nr, and one behind the last */
	size_t nr;
	struct report_slice *counts; /* owned; of each node by group, then by slice */
	size_t nr_counts;
	size_t nr_merged; /* frames that were merged */
};

/* Merges frames of fewer than min_samples, with their callees. 0 or -ENOMEM. */
int report_outline_make(const struct report_stacks *stacks, const struct report_slices *slices,
			uint64_t min_samples, struct report_outline *out);
void report_outline_fini(struct report_outline *o);

#endif
