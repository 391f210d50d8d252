/*
 * Which blocks each small block of a stopped program points to, read once, in order of addresses
 * and many at a time: a list whose items lie at random is then followed without a system call for
 * each.
 */
#ifndef HEAP_LINKS_H
#define HEAP_LINKS_H

#include "heap/index.h"

#include <stddef.h>
#include <stdint.h>

enum { HEAP_LINKS_SMALL = 4096 }; /* bytes of a small block */

/* A block's record is its head, which says how many links there are, and those: where the records
 * of other blocks are. Of a block that was not read, its number stands in their place. Zeroes are
 * fine. */
struct heap_links {
	uint32_t *item; /* owned; all records, by address of their blocks */
	size_t nr, room;
	uint32_t *at; /* owned; of each block, where its record is */
};

enum {
	HEAP_LINKS_NR = (1 << 16) - 1, /* of a head */
	HEAP_LINKS_IS_READ = 1 << 16,
	HEAP_LINKS_IS_REACHED = 1 << 17, /* for the caller */
};

/* The bytes of whole words of a block. */
uint64_t heap_links_words(const struct heap_index *ix, size_t i);
/* Makes a record of each block, and reads small ones, as many as there is room for. 0 or -errno;
 * -ETIMEDOUT: it is later than until_ns. */
int heap_links_read(struct heap_links *l, const struct heap_index *ix, uint32_t pid,
		    uint64_t until_ns);
void heap_links_fini(struct heap_links *l);

#endif
