/*
 * How sure a share is that was found from samples: the interval in which the true share lies in 95
 * of 100 cases. Knows nothing of where samples come from or how shares are shown.
 *
 * What is assumed: each sample falls into the row or not, by chance, whatever those before it did.
 * Samples at a fixed period of a program whose own rhythm is near a multiple of it are not like
 * that (each falls on the same spot), and neither are those of a program that changes slowly in a
 * session much shorter than the change: no number of samples tells that from within. Where samples
 * follow the row by turns (a long phase in one function) the true spread over repetitions of the
 * session is smaller or larger than what is said here; over iterations metric/chance.h sees that.
 */
#ifndef METRIC_SHARE_H
#define METRIC_SHARE_H

#include <stdint.h>

/* 0 <= low <= share <= high <= 1. */
struct share_interval {
	double share, low, high;
};

/* Samples by what they stand for (a period each, or 1). All zero: none. */
struct share_weights {
	uint64_t nr;    /* samples */
	double sum;     /* of their weights */
	double squares; /* of their weights */
};

/* Samples of one weight that know as much as these: sum² / squares; at most nr. */
double share_weights_effective(const struct share_weights *w);

/* k of n samples of one weight; k <= n. Without samples the share is 0 and anything from 0 to 1 is
 * possible. */
struct share_interval share_interval_count(uint64_t k, uint64_t n);
/* The part with the weight part of all; 0 <= part <= all->sum. The weights have nothing to do with
 * what is in the part: where they may (a frequency is asked for, so that periods follow the phases
 * of a program) use share_interval_part. */
struct share_interval share_interval(double part, const struct share_weights *all);
/* The same where the part's own samples are known; they are among those of all. */
struct share_interval share_interval_part(const struct share_weights *part,
					  const struct share_weights *all);
/* One number for people: the larger distance of the share from the ends. */
double share_interval_half(const struct share_interval *i);

#endif
