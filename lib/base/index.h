/*
 * Finds numbered things again: an open hash table of numbers, which only grows. The things are the
 * caller's, who also tells which are the same. Knows nothing of what they are.
 */
#ifndef BASE_INDEX_H
#define BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise; index_fini frees. */
struct index {
	struct index_slot *slots; /* owned */
	size_t nr, room;
};

enum { INDEX_MAX = 64 << 20, INDEX_NONE = UINT32_MAX };

/* Of bytes; seed: another hash to go on from, or 0. */
uint32_t index_hash(uint32_t seed, const void *data, size_t len);

/* The same of words, one after the other, for tables that are asked very often. */
static inline uint64_t index_mix(uint64_t seed, uint64_t word)
{
	seed = (seed ^ word) * 0x9e3779b97f4a7c15u;
	return seed ^ seed >> 32;
}

/* Whether the thing of this number is what key means. */
typedef bool index_same_fn(const void *arg, const void *key, uint32_t number);
/* The number of the first thing of this hash that is the same, or INDEX_NONE. What hostile input
 * puts behind 64 others of its hash is not found again, but costs no time. */
uint32_t index_find(const struct index *x, uint32_t hash, index_same_fn *same, const void *arg,
		    const void *key);
/* Adds a number, which is not there yet. 0 or -ENOMEM, also beyond INDEX_MAX. */
int index_add(struct index *x, uint32_t hash, uint32_t number);
void index_fini(struct index *x);

#endif
