/*
 * Where the level of a series of numbers changes: sessions in the order of builds.
 *
 * Whether it changes is decided by ranks: of all divisions of the series in two, by the one whose
 * sides differ most (the largest of Wilcoxon's rank sums, each divided by its deviation). Its p is
 * how often the same numbers in a random order have a division that differs as much, so that it
 * holds for any distribution, and single outliers are harmless. Where it changes is the division
 * that the medians of both sides fit best.
 */
#ifndef ESTIMATE_CHANGE_H
#define ESTIMATE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

enum {
	CHANGE_MIN = 8,  /* numbers: with fewer no order of them is rarer than 5 % */
	CHANGE_SIDE = 2, /* numbers on each side of a change */
	CHANGE_MAX = 4096,
};

struct change {
	size_t at;            /* the first number after it */
	double before, after; /* medians of the sides */
	double p;
};

/*
 * Finds the change that is most likely. Finite numbers only. The random orders are the same in each
 * call; there are so many that p is known to a tenth, and at least 5e-5. 1:
 * found; 0: fewer than CHANGE_MIN numbers, or all are equal; -EFBIG: more than CHANGE_MAX; -ENOMEM.
 */
int change_find(const double *v, size_t nr, struct change *out);

#endif
