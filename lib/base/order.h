/*
 * Three-way comparison, for the callbacks of qsort. Chain them: order_u64(a->x, b->x) ?:
 * order_u64(…)
 */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stdint.h>

/* Negative, 0 or positive, as a is less, equal or greater. */
static inline int order_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

#endif
