/*
 * Two sides that are measured in turns: the mean of the differences of pairs, with an interval that
 * may be looked at after each pair.
 *
 * Who measures until the interval is narrow, or until it excludes 0, stops at a moment that chance
 * has chosen: the interval of Student's t is wrong then (looked at after each two of 100 pairs of
 * equal sides, it excludes 0 in 30 % of all comparisons in place of 5 %). This one is a confidence
 * sequence: the probability that it misses the true mean at any look is at most 5 %, for
 * independent differences by a normal distribution with an unknown variance. It is the set of means
 * that a test by a mixture does not reject. The test compares how likely the differences are by
 * other means, weighted by a normal distribution around the mean tested, with how likely they are
 * by that one; under the latter this ratio is a martingale of mean 1 (Ville's inequality; Lai 1976,
 * Pérez-Ortiz et al. 2022).
 */
#ifndef ESTIMATE_PAIRED_H
#define ESTIMATE_PAIRED_H

#include <stdbool.h>
#include <stddef.h>

enum {
	PAIRED_MIN = 6,        /* pairs: with fewer the interval is without use */
	PAIRED_MIN_LIMIT = 10, /* from so many on, differences are limited, */
	PAIRED_LIMITED = 50,   /* if it is one of so many: more are no accident */
};

struct paired {
	double mean;      /* of the differences, as limited */
	double low, high; /* 95 %; infinite below 2 pairs, and of so few that nothing can be said */
	size_t nr;
	size_t nr_limited; /* differences that lie farther from the median than is usual */
};

/* d: the differences, in order. least: their standard deviation is at least that, as of what is
 * measured in steps. is_fixed: their number was chosen before (Student's t), in place of an
 * interval that holds at each look. A difference that is farther than 5 times the usual distance
 * (as of a standard deviation, by the median of the distances) from the median counts as one at
 * that distance, if there are few: one run beside a busy machine cannot decide. 0 or -ENOMEM. */
int paired_interval(const double *d, size_t nr, double least, bool is_fixed, struct paired *out);
/* The same with another chance of error than 5 %: of one of m intervals that are to hold together,
 * 0.05 / m. */
int paired_interval_of(const double *d, size_t nr, double least, bool is_fixed, double alpha,
		       struct paired *out);

#endif
