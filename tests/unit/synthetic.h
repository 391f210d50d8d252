/*
 * Synthetic data for tests of statistics: a seeded generator, the same numbers on each machine,
 * and a few distributions. Only for tests; knows no room.
 */
#ifndef TEST_SYNTHETIC_H
#define TEST_SYNTHETIC_H

#include "kit.h"

#include <math.h>

/* splitmix64: any seed is as good as another. */
static inline uint64_t synthetic_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* From 0 up to but not 1. */
static inline double synthetic_uniform(uint64_t *state)
{
	return (double)(synthetic_next(state) >> 11) * 0x1p-53;
}

/* From low to high, all orders of magnitude alike. */
static inline double synthetic_log_uniform(uint64_t *state, double low, double high)
{
	return low * pow(high / low, synthetic_uniform(state));
}

/* Mean 0, deviation 1. */
static inline double synthetic_normal(uint64_t *state)
{
	double radius = sqrt(-2 * log(1 - synthetic_uniform(state)));

	return radius * cos(2 * M_PI * synthetic_uniform(state));
}

/* Of shape >= 1 (Marsaglia and Tsang, 2000). */
static inline double synthetic_gamma(uint64_t *state, double shape)
{
	double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d), x, v;

	do {
		do {
			x = synthetic_normal(state);
			v = 1 + c * x;
		} while (v <= 0);
		v = v * v * v;
	} while (log(1 - synthetic_uniform(state)) > x * x / 2 + d - d * v + d * log(v));
	return d * v;
}

/* How many of n fall below p: one by one while they are few, else by halves (Devroye): the middle
 * one of n uniform numbers is of a beta distribution, and those on one side of it are known. */
static inline uint64_t synthetic_binomial(uint64_t *state, uint64_t n, double p)
{
	uint64_t k = 0;

	while (n > 40) {
		uint64_t a = 1 + n / 2, b = n + 1 - a;
		double x = synthetic_gamma(state, (double)a), y = synthetic_gamma(state, (double)b);
		double middle = x / (x + y);

		if (middle <= p) {
			k += a;
			n = b - 1;
			p = (p - middle) / (1 - middle);
		} else {
			n = a - 1;
			p /= middle;
		}
	}
	for (uint64_t i = 0; i < n; i++)
		k += synthetic_uniform(state) < p;
	return k;
}

#endif
