/*
 * Points of code that HotSpot has compiled for x86-64: where its calls return to, and where frames
 * are made and taken down, as its compilers write that.
 */
#ifndef RUNTIMES_POINTS_H
#define RUNTIMES_POINTS_H

#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>

struct points_of {
	uint64_t start;     /* of the code in its process */
	uint64_t low, high; /* of all code, in which calls lead */
	uint32_t frame_bytes, frame_from;
};

typedef void points_fn(void *arg, size_t distance, enum trace_compiled_point point);

/* In ascending order. Without an end of a frame that is known, there are but returns. */
void points_find(const struct points_of *of, const uint8_t *code, size_t bytes, points_fn *fn,
		 void *arg);

#endif
