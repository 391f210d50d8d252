/*
 * Arrays: their length, linear searches, and steps that may fail.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#define ARRAY_NR(array) (sizeof(array) / sizeof((array)[0]))

/* A pointer x to the first of nr items for which is_it, an expression of x, is true; NULL if none.
 */
#define ARRAY_FIND(x, items, nr, is_it)                                                            \
	({                                                                                         \
		__typeof__((items)[0]) *x = NULL;                                                  \
		size_t nr_ = (nr), i_ = 0;                                                         \
                                                                                                   \
		while (i_ < nr_ && (x = &(items)[i_], !(is_it)))                                   \
			i_++;                                                                      \
		i_ < nr_ ? x : NULL;                                                               \
	})

/* Whether is_it is true for any item. */
#define ARRAY_ANY(x, items, nr, is_it) (ARRAY_FIND(x, items, nr, is_it) != NULL)

/* Runs step, an expression of the index i, for i below nr until one fails. 0, or its error. */
#define ARRAY_RUN(i, nr, step)                                                                     \
	({                                                                                         \
		int rc_ = 0;                                                                       \
                                                                                                   \
		for (size_t i = 0; i < (nr) && rc_ == 0; i++)                                      \
			rc_ = (step);                                                              \
		rc_;                                                                               \
	})

#endif
