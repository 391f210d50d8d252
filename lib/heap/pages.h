/*
 * Which pages of a program's live allocations are in memory, and which were never touched, by
 * /proc/PID/pagemap; or by the agent's pattern (heap/pattern.h).
 *
 * Blocks are sorted by address, so that those of a page are beside each other. Pages are read at
 * each boundary, and by the wire's thread at the end of a process, which asks for it and waits. Of
 * blocks that are freed the agent asks mincore (agent/heap/pages.c).
 */
#ifndef HEAP_PAGES_H
#define HEAP_PAGES_H

#include "wire/heap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct root;

struct heap_pages {
	const struct root *root;
	uint64_t rate; /* bytes per sample */
	bool has_resident, has_untouched;
	bool has_pattern; /* what is untouched is not in pages, but for large blocks */
};

/* Adds to the stacks, by their numbers, WIRE_HEAP_RESIDENT and WIRE_HEAP_UNTOUCHED of live blocks.
 * 1; 0: the process has ended or is another program now; -errno: some are missing. */
int heap_read_pages(const struct heap_pages *what, uint32_t pid, const struct wire_heap *memory,
		    struct wire_heap_stack *stacks, size_t nr_stacks);

#endif
