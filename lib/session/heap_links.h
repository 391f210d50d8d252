/*
 * Which blocks each small block of a stopped program points to, read once, in order of addresses
 * and many at a time: a list whose items lie at random is then followed without a system call for
 * each.
 */
#ifndef SESSION_HEAP_LINKS_H
#define SESSION_HEAP_LINKS_H

#include "session/heap_index.h"

#include <stddef.h>
#include <stdint.h>

enum { HEAP_LINKS_SMALL = 4096 }; /* bytes of a small block */

/* Zeroes are fine. */
struct heap_links {
	uint32_t *target; /* owned; numbers of blocks */
	size_t nr, room;
	uint32_t *first; /* owned; of each block, and one more */
};

/* The bytes of whole words of a block. */
uint64_t heap_links_words(const struct heap_index *ix, size_t i);
/* Reads small blocks, as many as there is room for. 0 or -errno, after which there may be some;
 * -ETIMEDOUT: it is later than until_ns. */
int heap_links_read(struct heap_links *l, const struct heap_index *ix, uint32_t pid,
		    uint64_t until_ns);
/* What the block points to: *nr numbers of others. NULL: it was not read. */
const uint32_t *heap_links_of(const struct heap_links *l, size_t i, size_t *nr);
void heap_links_fini(struct heap_links *l);

#endif
