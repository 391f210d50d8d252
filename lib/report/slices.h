/*
 * Samples counted over time: how many of each stack and group (of threads, say) came in each slice.
 * Memory is bounded: where there are too many counts, slices become twice as long. Knows nothing of
 * what the numbers stand for.
 */
#ifndef REPORT_SLICES_H
#define REPORT_SLICES_H

#include <stddef.h>
#include <stdint.h>

struct report_slices;

struct report_slice {
	uint32_t stack, group, slice; /* its key */
	uint64_t samples, weight;
};

/* NULL without memory. */
struct report_slices *report_slices_new(size_t max_counts);
void report_slices_free(struct report_slices *s); /* NULL is fine */

/* One more sample, in a slice as it was at first. 0, -ENOMEM; -EFBIG: there are too many stacks and
 * groups, even if time is not told apart. */
int report_slices_add(struct report_slices *s, uint32_t stack, uint32_t group, uint32_t slice,
		      uint64_t weight);
/* Makes slices twice as long. 0 or -ENOMEM. */
int report_slices_double(struct report_slices *s);
/* So often that was done: slices are of that many, as a power of two. */
unsigned report_slices_doubled(const struct report_slices *s);

/* The counts, in no order; until something is done with s. */
const struct report_slice *report_slices_counts(const struct report_slices *s, size_t *nr);

#endif
