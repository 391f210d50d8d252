/*
 * Of numbers that are too many for each run a part is tried: every nth, from a place that the seed
 * (CPUPERF_TEST_SEED, in scripts/test the number of commits) chooses, so that many runs try all
 * of them. With CPUPERF_TEST_LONG=1 each run tries all. What was chosen is printed once.
 */
#ifndef TEST_STRIDE_H
#define TEST_STRIDE_H

#include <stddef.h>

/* The step by which at most `most` of nr numbers are tried: 1 or more. */
size_t stride_by(size_t nr, size_t most);

/* Where the steps begin: below by. */
size_t stride_from(size_t by);

/* for each i below nr, or at most `most` of them */
#define STRIDE_EACH(i, nr, most)                                                                   \
	for (size_t i##_by = stride_by(nr, most), i = stride_from(i##_by); i < (size_t)(nr);       \
	     i += i##_by)

#endif
