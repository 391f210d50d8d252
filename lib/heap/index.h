/*
 * The blocks of a program in order of their addresses, and which one an address is in: among ten
 * millions, too, with two looks at memory.
 */
#ifndef HEAP_INDEX_H
#define HEAP_INDEX_H

#include "wire/heap.h"

#include <stddef.h>
#include <stdint.h>

struct heap_index_region;

/* Zeroes are an index without blocks. */
struct heap_index {
	struct wire_heap_block *block; /* owned; each address once */
	size_t nr;
	uint64_t low, high;               /* of all blocks */
	struct heap_index_region *region; /* owned */
	size_t nr_regions;
	uint32_t *cell; /* owned */
};

/* Makes an index of nr blocks, fewer than 2^31, with addresses below 2^48, in any order, which it
 * then owns. 0, -ENOMEM, or -ETIMEDOUT: not before until_ns (CLOCK_MONOTONIC). */
int heap_index_make(struct heap_index *ix, struct wire_heap_block *block, size_t nr,
		    uint64_t until_ns);
void heap_index_fini(struct heap_index *ix);

uint64_t heap_index_begin(const struct heap_index *ix, size_t i);
/* Beyond its last byte; a block of 0 bytes has an address. */
uint64_t heap_index_end(const struct heap_index *ix, size_t i);
/* The first block that begins beyond the address. */
size_t heap_index_after(const struct heap_index *ix, uint64_t address);
/* The number of the block that the address is in; nr: none. */
size_t heap_index_find(const struct heap_index *ix, uint64_t address);
/* Fetches into the CPU's caches what find reads, of several addresses at a time. */
void heap_index_fetch(const struct heap_index *ix, const uint64_t *address, size_t nr);

#endif
