/*
 * Samples over time: the number per stack, group (of threads, say) and slice. Memory is bounded: if
 * there are too many counts, slices become twice as long.
 */
#ifndef REPORT_SLICES_H
#define REPORT_SLICES_H

#include <stddef.h>
#include <stdint.h>

struct report_slices;

struct report_slice {
	uint32_t stack, group, slice; /* its key */
	uint64_t samples, weight;
	double squares; /* as in struct report_weight */
};

/* The shortest slice (1, 2 or 5 times a power of ten, in ns) of which at most nr cover a span. */
uint64_t report_slices_round(uint64_t span_ns, unsigned nr);

/* NULL without memory. */
struct report_slices *report_slices_new(size_t max_counts);
void report_slices_free(struct report_slices *s); /* NULL is fine */

/* Counts samples in a slice of the initial length. 0, -ENOMEM; -EFBIG: too many stacks and groups,
 * even with a single slice. */
int report_slices_add(struct report_slices *s, uint32_t stack, uint32_t group, uint32_t slice,
		      uint64_t samples, uint64_t weight, double squares);
/* Makes slices twice as long. 0 or -ENOMEM. */
int report_slices_double(struct report_slices *s);
/* How often slices were doubled: a slice covers 2 to that power initial slices. */
unsigned report_slices_doubled(const struct report_slices *s);

/* The counts, in no order; valid until s changes. */
const struct report_slice *report_slices_counts(const struct report_slices *s, size_t *nr);

#endif
