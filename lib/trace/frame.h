/*
 * The header of a frame whose payload is in one or more pieces. Private to trace/; independent of
 * the kind of frame.
 */
#ifndef TRACE_FRAME_H
#define TRACE_FRAME_H

#include "trace/format.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* The pieces are the payload, in order; together below 4 GiB. */
void trace_frame_header(uint8_t out[TRACE_FRAME_HEADER_BYTES], uint16_t kind, uint16_t flags,
			const struct iovec *piece, size_t nr);

#endif
