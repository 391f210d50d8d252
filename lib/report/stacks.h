/*
 * Stacks by number: a tree of frames, each stack a node and its callers the nodes above. Grows with
 * stacks that differ, not with samples. For reports that give samples one by one. Knows nothing of
 * samples.
 */
#ifndef REPORT_STACKS_H
#define REPORT_STACKS_H

#include "report/entry.h"

struct report_stacks;

enum {
	REPORT_NO_STACK = 0,                 /* the root: of no frames */
	REPORT_MAX_STACKS = 4 * 1024 * 1024, /* with so many, new stacks are not added */
};

struct report_stack_node {
	struct report_frame frame;
	uint32_t parent; /* its caller's: always a lower number; REPORT_NO_STACK: none */
	uint32_t depth;  /* number of frames */
};

struct report_stacks *report_stacks_new(void);    /* NULL: no memory */
void report_stacks_free(struct report_stacks *s); /* NULL is fine */

/* By any number of threads at once. The number of a stack, the sampled function first: 1 …, or 0
 * of no frames. Once it is full, a stack that is new is cut where it differs from those known. 0 or
 * -ENOMEM. */
int report_stacks_add(struct report_stacks *s, const struct report_frame *frames, size_t nr,
		      uint32_t *number);

/* Of a number that was given to who asks; borrowed as long as the stacks are. */
const struct report_stack_node *report_stacks_at(const struct report_stacks *s, uint32_t number);
size_t report_stacks_nr(const struct report_stacks *s); /* numbers are below; 1 if there is none */
bool report_stacks_is_full(const struct report_stacks *s);

#endif
