/*
 * Comparing, sorting and searching.
 */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Negative, 0 or positive, as a is less, equal or greater. Keys are chained:
 * order_u64(a->x, b->x) ?: order_u64(…) */
static inline int order_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Items that are uint64_t; for order_sort. */
int order_numbers(const void *a, const void *b);
/* Items that are uint32_t. */
int order_ids(const void *a, const void *b);
/* Items that are double, none of them NaN. */
int order_reals(const void *a, const void *b);

/* As qsort, but fast if the items are in order, and without items if nr is 0. */
void order_sort(void *items, size_t nr, size_t size, int (*compare)(const void *, const void *));

/* The first i (a size_t) below nr for which is_after, an expression of i, is true; nr if none. From
 * that one on it must be true for all. */
#define ORDER_FIRST(i, nr, is_after)                                                               \
	({                                                                                         \
		size_t from_ = 0, to_ = (nr);                                                      \
                                                                                                   \
		while (from_ < to_) {                                                              \
			size_t i = from_ + (to_ - from_) / 2;                                      \
                                                                                                   \
			if (is_after)                                                              \
				to_ = i;                                                           \
			else                                                                       \
				from_ = i + 1;                                                     \
		}                                                                                  \
		from_;                                                                             \
	})

#endif
