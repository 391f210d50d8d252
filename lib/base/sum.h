/*
 * Sums that saturate.
 */
#ifndef BASE_SUM_H
#define BASE_SUM_H

#include <stdint.h>

/* Adds n to *to, up to UINT64_MAX. */
static inline void sum_add(uint64_t *to, uint64_t n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = UINT64_MAX;
}

#endif
