/*
 * Mean and standard deviation of numbers that come one by one; the median of those that are there.
 */
#ifndef ESTIMATE_SPREAD_H
#define ESTIMATE_SPREAD_H

#include <stddef.h>
#include <stdint.h>

/* Welford's method, one pass. Zero-initialise. */
struct spread {
	uint64_t nr;
	double mean, m2;
};
void spread_add(struct spread *s, double x);
double spread_deviation(const struct spread *s); /* sample standard deviation; 0 below two */
/* Of numbers that are independent: half of the 95 % interval of their mean; 0 below two. */
double spread_mean_half(const struct spread *s);
/* Sorts v, of nr (not 0) numbers. */
double spread_median(double *v, size_t nr);

#endif
