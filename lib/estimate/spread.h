/*
 * Mean and standard deviation of numbers that come one by one.
 */
#ifndef ESTIMATE_SPREAD_H
#define ESTIMATE_SPREAD_H

#include <stdint.h>

/* Welford's method, one pass. Zero-initialise. */
struct spread {
	uint64_t nr;
	double mean, m2;
};
void spread_add(struct spread *s, double x);
double spread_deviation(const struct spread *s); /* sample standard deviation; 0 below two */

#endif
