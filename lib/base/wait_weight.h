/*
 * What a sample of a wait stands for. Each ns of waiting is sampled with the probability 1 / mean,
 * independently of the others, so a wait of d ns with 1 - exp(-d / mean): to be unbiased a sample
 * of it counts d / (1 - exp(-d / mean)). Of a short wait that is mean, of a long one d.
 */
#ifndef BASE_WAIT_WEIGHT_H
#define BASE_WAIT_WEIGHT_H

#include "base/wait_thinning.h"

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

/* The word of a sample is the wait, and above it the level (base/wait_thinning.h). In a file, any
 * word may stand. */
static inline unsigned int wait_word_level(uint64_t word)
{
	return word >> WAIT_NS_BITS <= WAIT_MAX_LEVEL ? (unsigned int)(word >> WAIT_NS_BITS) : 0;
}

static inline uint64_t wait_word_ns(uint64_t word)
{
	return word & ((UINT64_C(1) << WAIT_NS_BITS) - 1);
}

/* The weight of the wait in a word. */
static inline uint64_t wait_word_weight(uint64_t word, uint64_t mean_ns)
{
	const uint64_t ns = wait_word_ns(word);
	const unsigned int level = wait_word_level(word);
	const uint64_t whole = wait_weight(ns, mean_ns);
	double weight;

	if (!level || !mean_ns)
		return whole;
	weight = (double)whole * (1 << WAIT_KEPT_BITS) / wait_kept(ns, mean_ns, level);
	return weight < 0x1p64 ? (uint64_t)(weight + 0.5) : UINT64_MAX;
}

#endif
