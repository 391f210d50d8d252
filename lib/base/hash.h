/*
 * Hashes for tables in memory; not stable between versions of the program.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/mix.h"

#include <stddef.h>
#include <stdint.h>

/* seed: the hash of the preceding bytes, or 0. */
uint32_t hash_bytes(uint32_t seed, const void *data, size_t len);

#endif
