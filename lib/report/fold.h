/*
 * Samples that agree, counted together: a tree of the stacks that were seen, and counts at its
 * nodes, of a fixed size, which is emptied into the report when it is full. So memory does not grow
 * with the number of samples, and the report, which is behind a lock, is met once for many of them.
 * One per thread.
 */
#ifndef REPORT_FOLD_H
#define REPORT_FOLD_H

#include "report/entry.h"

struct report_fold;

enum {
	REPORT_MAX_FRAMES = 2048, /* of a stack; what is deeper has no further nodes */
	REPORT_FOLD_ROOT = 0,
	REPORT_FOLD_NODES = 1 << 16, /* nodes are below */
	REPORT_FOLD_FULL = UINT32_MAX,
};

/* What entries are given to; their frames may be changed. */
typedef int report_folded_fn(void *arg, const struct report_key *key,
			     const struct report_weight *weight, struct report_frame *frames,
			     size_t nr_frames);

struct report_fold *report_fold_new(report_folded_fn *give, void *arg); /* NULL: no memory */
void report_fold_free(struct report_fold *f);                           /* NULL is fine */
/* The node of a frame that is called at a node, outermost frames first, which is made if it is not
 * there. REPORT_FOLD_FULL: empty it, and begin the stack anew. Nodes hold until then. */
uint32_t report_fold_child(struct report_fold *f, uint32_t node, const struct report_frame *frame);
/* One more sample of that key and of the stack that ends at the node; false: full. */
bool report_fold_count(struct report_fold *f, uint32_t node, const struct report_key *key,
		       uint64_t weight);
/* The stack that ends at a node, the sampled function first; may be changed. At most
 * REPORT_MAX_FRAMES. */
struct report_frame *report_fold_frames(struct report_fold *f, uint32_t node, size_t *nr);
/* Gives all entries, in the order in which they were made. 0, or what give returned. */
int report_fold_empty(struct report_fold *f);

#endif
