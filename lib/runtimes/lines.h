/*
 * HotSpot's compressed tables of lines, as sessions have them.
 */
#ifndef RUNTIMES_LINES_H
#define RUNTIMES_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINES_MAX_BYTES = 4096 };

/* version: of Java. *out: pairs of bytes (TRACE_LINES_BYTES), from *first_line on. False: the table
 * is empty, longer, or invalid; or its bytecodes are in no order. */
bool lines_convert(const uint8_t *table, size_t bytes, uint64_t version,
		   uint8_t out[LINES_MAX_BYTES], uint32_t *out_bytes, uint32_t *first_line);

#endif
