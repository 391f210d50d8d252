/*
 * A hash of words, for hot tables; also for programs in the kernel.
 */
#ifndef BASE_MIX_H
#define BASE_MIX_H

/* Adds one word to a hash. */
static inline unsigned long long hash_mix(unsigned long long seed, unsigned long long word)
{
	seed = (seed ^ word) * 0x9e3779b97f4a7c15ull;
	return seed ^ seed >> 32;
}

#endif
