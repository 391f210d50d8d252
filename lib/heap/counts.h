/*
 * The counts of the heap, over processes. Each function adds; peaks and largest allocations are
 * those of the largest.
 */
#ifndef HEAP_COUNTS_H
#define HEAP_COUNTS_H

#include "heap/heap.h"

struct heap_process;

/* kind: enum event_heap_kind; to: its count. */
void heap_counts_add(uint64_t *to, int kind, uint64_t amount);
void heap_counts_add_sums(uint64_t counts[HEAP_NR_COUNTS], const struct wire_heap_sums *sums);
void heap_counts_add_times(uint64_t counts[HEAP_NR_COUNTS], const struct wire_heap_times *times);
/* What is the sum of stacks; s: one of the process. */
void heap_counts_add_stack(uint64_t counts[HEAP_NR_COUNTS], const struct heap_process *p,
			   const struct wire_heap_stack *s);
/* All that the process did, by its last reading. */
void heap_counts_add_process(uint64_t counts[HEAP_NR_COUNTS], const struct heap_process *p);
/* Forgets what is there now, and not what has happened. */
void heap_counts_forget_live(uint64_t counts[HEAP_NR_COUNTS]);
/* What was not measured. */
void heap_lost_add(struct wire_heap_sums *to, const struct wire_heap_sums *n);
void heap_ended_add(struct heap_ended *to, const struct heap_ended *from);

/* Of a number that a program may have made less. */
static inline uint64_t heap_growth(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

#endif
