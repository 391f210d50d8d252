/*
 * What stacks stand for: of each event the samples that end in a stack, and those that go through
 * it. Memory grows with stacks. Knows nothing of where samples come from.
 */
#ifndef CPUPERF_PRINT_STACK_WEIGHTS_H
#define CPUPERF_PRINT_STACK_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct report_stacks;

struct stack_weight {
	uint64_t samples, weight;
};

/* Of one event, by the number of the stack. Zero-initialise. */
struct stack_weights {
	struct stack_weight *self;  /* owned, like the next */
	struct stack_weight *total; /* stack_weights_add_up; nr of report_stacks_nr */
	size_t nr;
};

void stack_weights_fini(struct stack_weights *w);
/* 0 or -ENOMEM. */
int stack_weights_add(struct stack_weights *w, uint32_t stack, uint64_t weight);
/* Once, when all samples are there. 0 or -ENOMEM. */
int stack_weights_add_up(struct stack_weights *w, const struct report_stacks *stacks);

/* Of each stack whether its function is among its callers too: report_stacks_nr of them, the
 * caller's to free with mem_free. nr_functions: their numbers are below. NULL: no memory. */
bool *stack_weights_recursive(const struct report_stacks *stacks, size_t nr_functions);

#endif
