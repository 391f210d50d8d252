/*
 * Hashes for tables in memory; not stable between versions of the program.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* seed: the hash of the preceding bytes, or 0. */
uint32_t hash_bytes(uint32_t seed, const void *data, size_t len);

/* Adds one word; for hot tables. */
static inline uint64_t hash_mix(uint64_t seed, uint64_t word)
{
	seed = (seed ^ word) * 0x9e3779b97f4a7c15u;
	return seed ^ seed >> 32;
}

#endif
