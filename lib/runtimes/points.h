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

/* The same of what the machine has of its own, without a size of frames: functions that begin with
 * push rbp and mov rbp, rsp. call: where its calls of Java return to, from the start; 0: nowhere.
 * There is a frame with a pointer from TRACE_POINT_WHOLE on; TRACE_POINT_POINTER: any is possible.
 */
void points_find_stubs(const uint8_t *code, size_t bytes, size_t call, points_fn *fn, void *arg);

#endif
