/*
 * Which of many alike differs beyond chance: each host of a job is compared with the other ones, by
 * their median and by their spread, the median of the distances from it, so that a second one that
 * differs hides neither. And how unequally a load is shared.
 *
 * The median and the spread are those of the other hosts, so that one that differs does not widen
 * its own yardstick. How far chance goes is that of Student's distribution with 0.385 degrees of
 * freedom for each of them, which simulation gave; Holm's correction is over all hosts and
 * quantities.
 */
#ifndef ESTIMATE_OUTLIERS_H
#define ESTIMATE_OUTLIERS_H

#include <stddef.h>

/* With fewer there are too few others to say what is usual. */
enum { OUTLIERS_MIN = 4 };

struct outliers_item {
	double value;
	double variance; /* of its own error, as of sampling; 0: it is exact */
};

struct outlier {
	double usual; /* the median of the others */
	double z;     /* how far it is from that, in units of the others' spread and its own error;
			 infinite where both are 0 */
	/* The probability of so large a |z| by chance alone, where values are spread as by the
	 * normal distribution: that of Student's t with 0.385 degrees of freedom for each of the
	 * others, which is what simulation gives (tests/unit/test_estimate_outliers.c). */
	double p;
};

/* out: one for each item; with fewer than OUTLIERS_MIN, z is 0 and p is 1. 0 or -ENOMEM. */
int outliers_find(const struct outliers_item *items, size_t nr, struct outlier *out);

struct imbalance {
	double mean, max;
	size_t slowest; /* the index of max */
	double over;    /* max / mean - 1: how much longer it takes than if all had the same */
	double idle;    /* (max - mean) / max: the part of the time that the others wait for it */
};
/* Calculates the imbalance of nr (not 0) values of at least 0. If all are 0, so are over and idle.
 */
void outliers_imbalance(const double *values, size_t nr, struct imbalance *out);

#endif
