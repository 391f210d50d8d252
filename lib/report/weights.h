/*
 * The weight of stacks: for each event, the samples that end in a stack, and those that pass
 * through it. Memory grows with stacks. Independent of where samples come from.
 */
#ifndef REPORT_WEIGHTS_H
#define REPORT_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct report_stacks;

/* Time without a sample, which records of switches have, is weight alone. */
struct report_stack_weight {
	uint64_t samples, weight;
};

static inline bool report_stack_weight_is_any(const struct report_stack_weight *w)
{
	return w->samples || w->weight;
}

/* The weights of one event, by stack number. Zero-initialise. */
struct report_weights {
	struct report_stack_weight *self;  /* owned, like the next; room of them */
	struct report_stack_weight *total; /* report_weights_add_up: report_stacks_nr of them */
	size_t room;
};

void report_weights_fini(struct report_weights *w);
/* 0 or -ENOMEM. */
int report_weights_add(struct report_weights *w, uint32_t stack, uint64_t samples, uint64_t weight);
/* Call once, after the last sample. 0 or -ENOMEM. */
int report_weights_add_up(struct report_weights *w, const struct report_stacks *stacks);

/* For each stack, whether its function is also among its callers: report_stacks_nr flags, to be
 * freed by the caller with mem_free. nr_functions: function numbers are below. NULL: no memory. */
bool *report_weights_recursive(const struct report_stacks *stacks, size_t nr_functions);

#endif
