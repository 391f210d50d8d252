/*
 * Whether two sides differ by more than chance: Welch's t-test over replicates, and the correction
 * for many tests at once.
 *
 * Replicates are whole sessions, or the iterations of one session per side. Iterations do not show
 * what varies from run to run (memory layout, other load): a difference that is certain between
 * them is certain within these two runs only.
 */
#ifndef ESTIMATE_CHANCE_H
#define ESTIMATE_CHANCE_H

#include "estimate/spread.h"

#include <stdbool.h>
#include <stddef.h>

/* The regularised incomplete beta function I_x(a, b): 0 <= x <= 1; a and b above 0, up to 1e4 (to
 * 1e6 where the other one is 1/2).
 * Absolute error below 1e-10. */
double chance_beta(double a, double b, double x);
/* The probability of at least this |t| by Student's distribution; df > 0. */
double chance_student(double t, double df);
/* The |t| of a probability, 0 < p <= 1; p below 1e-15 counts as 1e-15. */
double chance_student_inverse(double p, double df);

struct chance_test {
	double t, df;
	double p;    /* the probability of such a difference by chance alone */
	double half; /* half of the 95 % interval of b's mean minus a's */
};

/*
 * Are the means of a and b different? Variances need not be equal. least: lower bounds of the
 * variance of one replicate per side, known beforehand (that of counting samples), so that a few
 * equal counts are not certain; 0: none. Different means without any variance have p 0. False: a
 * side has fewer than two replicates.
 */
bool chance_welch(const struct spread *a, const struct spread *b, const double least[2],
		  struct chance_test *out);

/* Neighbouring iterations are correlated: they are also tested in blocks of 2 to so many
 * neighbours, and the largest p and the widest interval count. The length of the longest blocks:
 * each side has at least three, and no more than 5 neighbours are in one. Of nr_a and nr_b
 * iterations; from 1. */
size_t chance_longest_block(size_t nr_a, size_t nr_b);
enum { CHANCE_LONGEST_BLOCK = 5 };

/* The error of a difference of two means, as blocks of each length have it. Zeroed: none. */
struct chance_errors {
	struct {
		double error, df;
	} of[CHANCE_LONGEST_BLOCK];
	size_t nr;
};
/* Adds that of chance_welch. False: a side has fewer than two replicates. */
bool chance_errors_add(struct chance_errors *e, const struct spread *a, const struct spread *b,
		       const double least[2]);
/* Those of numbers in order, without lower bounds; are_neighbours: iterations of one session a
 * side, in blocks as above. */
bool chance_errors_numbers(const double *a, size_t nr_a, const double *b, size_t nr_b,
			   bool are_neighbours, struct chance_errors *out);
/* The largest p of the difference, and half of its widest interval, which contains it unless that
 * has p below the level: 0.05 is a 95 % interval. */
double chance_errors_p(const struct chance_errors *e, double difference);
double chance_errors_half(const struct chance_errors *e, double level);

/*
 * Holm's correction: raises each p[i] (0 to 1) so that the chance of any false claim among all nr
 * tests with an adjusted value below 0.05 is at most 5 %, however the tests depend on each other.
 * weight (above 0; NULL: all equal) divides the 5 % among the tests; it must be independent of what
 * is tested. level (NULL: not wanted): what p[i] is below where its adjusted value is below 0.05,
 * and so the level of an interval with the same correction. 0 or -ENOMEM.
 */
int chance_holm(const double *p, const double *weight, size_t nr, double *adjusted, double *level);
/* An adjusted p below this is significant. */
#define CHANCE_SIGNIFICANCE 0.05

#endif
