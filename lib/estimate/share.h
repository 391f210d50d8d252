/*
 * The certainty of a share that was found by sampling: its 95 % confidence interval.
 *
 * Assumption: samples are independent. That fails at a fixed period near a multiple of the
 * program's own (each sample hits the same spot), and in a session much shorter than the program's
 * phases; the samples of one session cannot show that. With long phases the true spread over
 * repetitions is smaller or larger than this interval; estimate/chance.h measures it over
 * iterations.
 */
#ifndef ESTIMATE_SHARE_H
#define ESTIMATE_SHARE_H

#include <stdint.h>

/* 0 <= low <= share <= high <= 1. */
struct share_interval {
	double share, low, high;
};

/* Samples by their weights (a period each, or 1). All zero: none. */
struct share_weights {
	uint64_t nr;    /* samples */
	double sum;     /* of their weights */
	double squares; /* of their weights */
};

/* The effective number of samples of equal weight: sum² / squares; at most nr. */
double share_weights_effective(const struct share_weights *w);

/* k of n samples of equal weight; k <= n. Without samples the share is 0, the interval 0 to 1. */
struct share_interval share_interval_count(uint64_t k, uint64_t n);
/* The part with the weight part of all; 0 <= part <= all->sum. Weights must be
 * independent of the part; if they may not be (with a frequency, periods follow the phases of a
 * program) use share_interval_part. */
struct share_interval share_interval(double part, const struct share_weights *all);
/* The same where the part's own samples are known; they are among those of all. */
struct share_interval share_interval_part(const struct share_weights *part,
					  const struct share_weights *all);
/* The larger distance of the share from the ends of the interval. */
double share_interval_half(const struct share_interval *i);

#endif
