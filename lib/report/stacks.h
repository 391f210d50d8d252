/*
 * Stacks by number: a tree of frames, in which each stack is a node and its callers are its
 * ancestors. Memory grows with distinct stacks, not with samples. For sinks that receive single
 * samples.
 */
#ifndef REPORT_STACKS_H
#define REPORT_STACKS_H

#include "report/entry.h"

struct report_stacks;

enum {
	REPORT_NO_STACK = 0,                 /* the root, without frames */
	REPORT_MAX_STACKS = 4 * 1024 * 1024, /* then new stacks are not added */
};

struct report_stack_node {
	struct report_frame frame;
	uint32_t parent; /* its caller's stack, always a lower number; REPORT_NO_STACK: none */
	uint32_t depth;  /* number of frames */
};

struct report_stacks *report_stacks_new(void);    /* NULL: no memory */
void report_stacks_free(struct report_stacks *s); /* NULL is fine */

/* Thread-safe. Finds or adds a stack, the sampled function first, and returns its number: 1 …, or 0
 * without frames. Once the tree is full, a new stack is truncated where it differs from known ones.
 * 0 or -ENOMEM. */
int report_stacks_add(struct report_stacks *s, const struct report_frame *frames, size_t nr,
		      uint32_t *number);

/* The node of a number that report_stacks_add returned to this thread; valid as long as the stacks.
 */
const struct report_stack_node *report_stacks_at(const struct report_stacks *s, uint32_t number);
size_t report_stacks_nr(const struct report_stacks *s); /* numbers are below; 1 if there is none */
bool report_stacks_is_full(const struct report_stacks *s);

#endif
