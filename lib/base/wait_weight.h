/*
 * What a sample of a wait stands for. Each ns of waiting is sampled with the probability 1 / mean,
 * independently of the others, so a wait of d ns with 1 - exp(-d / mean): to be unbiased a sample
 * of it counts d / (1 - exp(-d / mean)). Of a short wait that is mean, of a long one d.
 */
#ifndef BASE_WAIT_WEIGHT_H
#define BASE_WAIT_WEIGHT_H

#include <math.h>
#include <stdint.h>

/* In ns. mean_ns of 0: d_ns. Saturates at UINT64_MAX. */
static inline uint64_t wait_weight(uint64_t d_ns, uint64_t mean_ns)
{
	double d = (double)d_ns, weight;

	if (!d_ns || !mean_ns)
		return d_ns;
	weight = d / -expm1(-d / (double)mean_ns);
	return weight < 0x1p64 ? (uint64_t)(weight + 0.5) : UINT64_MAX;
}

#endif
