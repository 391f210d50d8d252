/*
 * Counts samples by key and stack: a tree of stacks of a fixed size, with counts at its nodes,
 * which is emptied into the report when it is full. So memory does not grow with the number of
 * samples, and the report's lock is taken once for many of them. One per thread.
 */
#ifndef REPORT_FOLD_H
#define REPORT_FOLD_H

#include "report/entry.h"

struct report_fold;

enum {
	REPORT_MAX_FRAMES = 2048, /* per stack; deeper frames are dropped */
	REPORT_FOLD_ROOT = 0,
	REPORT_FOLD_NODES = 1 << 16, /* nodes are below */
	REPORT_FOLD_FULL = UINT32_MAX,
};

/* Receives the entries; it may change their frames. */
typedef int report_folded_fn(void *arg, const struct report_key *key,
			     const struct report_weight *weight, struct report_frame *frames,
			     size_t nr_frames);

struct report_fold *report_fold_new(report_folded_fn *receive, void *arg); /* NULL: no memory */
void report_fold_free(struct report_fold *f);                              /* NULL is fine */
/* Finds or adds the node of a frame below a node, outermost frames first. REPORT_FOLD_FULL: empty
 * the fold, and start the stack again. Nodes are valid until then. */
uint32_t report_fold_child(struct report_fold *f, uint32_t node, const struct report_frame *frame);
/* Counts samples of that key and of the stack that ends at the node. False: full. */
bool report_fold_count(struct report_fold *f, uint32_t node, const struct report_key *key,
		       const struct report_count *count);
/* The stack that ends at a node, the sampled function first, at most REPORT_MAX_FRAMES; the caller
 * may change it. */
struct report_frame *report_fold_frames(struct report_fold *f, uint32_t node, size_t *nr);
/* Passes all entries on, in the order in which they were added. 0, or what receive returned. */
int report_fold_empty(struct report_fold *f);

#endif
