/*
 * The stacks of counts over time in preorder: each frame before its callees, the largest callee
 * first. Frames that are too small to be shown are one frame, "[merged]", in their caller.
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
	size_t first_count; /* first count of stacks that end here; they end at the next node's
			       first */
};

struct report_outline {
	struct report_outline_node *nodes; /* owned; nr, and one after the last */
	size_t nr;
	struct report_slice *counts; /* owned; by node, then group, then slice */
	size_t nr_counts;
	size_t nr_merged; /* frames that were merged */
};

/* Merges frames of fewer than min_samples, with their callees. 0 or -ENOMEM. */
int report_outline_make(const struct report_stacks *stacks, const struct report_slices *slices,
			uint64_t min_samples, struct report_outline *out);
void report_outline_fini(struct report_outline *o);

#endif
