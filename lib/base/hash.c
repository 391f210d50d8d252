/*
 * XXH3, truncated to 32 bits.
 */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint32_t hash_bytes(uint32_t seed, const void *data, size_t len)
{
	return (uint32_t)XXH3_64bits_withSeed(data, len, seed);
}
