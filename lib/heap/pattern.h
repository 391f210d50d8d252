/*
 * What a program did not write of its live allocations that the agent filled with a pattern.
 */
#ifndef HEAP_PATTERN_H
#define HEAP_PATTERN_H

#include "wire/heap.h"

#include <stddef.h>
#include <stdint.h>

struct heap_pattern {
	uint32_t pid;
	const struct wire_heap_block *block;
	size_t nr;
	/* Of each block that has some: bytes. */
	void (*found)(void *arg, size_t block, uint64_t bytes);
	void *arg;
};

/* Reads all blocks that are filled. 0, also if the process has ended meanwhile, or -errno: some are
 * missing; -EFBIG: there are too many. */
int heap_read_pattern(const struct heap_pattern *what);

#endif
