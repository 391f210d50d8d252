/*
 * Whether two sides differ by more than chance: Welch's t-test over replicates, and what becomes of
 * many tests at once. Knows nothing of what is compared.
 *
 * Replicates are what is repeated and what chance is taken from: whole sessions, or the iterations
 * of one session a side. Iterations know nothing of what differs from run to run (where the
 * program's pages came to lie, what else ran that day): what is certain between them is certain
 * within these two runs.
 */
#ifndef METRIC_CHANCE_H
#define METRIC_CHANCE_H

#include "metric/spread.h"

#include <stdbool.h>
#include <stddef.h>

/* The regularised incomplete beta function I_x(a, b): 0 <= x <= 1; a and b above 0, up to 1e4 (to
 * 1e6 where the other one is 1/2).
 * Absolute error below 1e-10. */
double chance_beta(double a, double b, double x);
/* The probability of a |t| as large as this or larger, by Student's distribution; df > 0. */
double chance_student(double t, double df);
/* The |t| of that probability, for 0 < p <= 1; for what is below 1e-15 that of 1e-15. */
double chance_student_inverse(double p, double df);

struct chance_test {
	double t, df;
	double p;    /* of such a difference, or a larger one, where there is none */
	double half; /* b's mean minus a's is certain to this, in 95 of 100 cases */
};

/*
 * Are the means of a and b different? Variances need not be equal. least are the variances that
 * one replicate of each side has at least by what is known beforehand (that of counting samples):
 * without it few samples that happen to be equal would be certain; 0: nothing is known. What never
 * varies and differs has p 0. False: impossible, a side has less than two replicates.
 */
bool chance_welch(const struct spread *a, const struct spread *b, const double least[2],
		  struct chance_test *out);

/*
 * Holm's correction: adjusted[i] is p[i] made so large that of all nr tests, any one with a value
 * below 0.05 is a false claim in at most 5 of 100 cases, whatever they have to do with each other.
 * Each p is from 0 to 1. By weight (above 0; NULL: all alike) a test has more or less of the 5 in
 * 100 to itself: weights must not come from what is tested. 0 or -ENOMEM.
 */
int chance_holm(const double *p, const double *weight, size_t nr, double *adjusted);

#endif
