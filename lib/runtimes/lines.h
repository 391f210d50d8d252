/*
 * HotSpot's compressed tables of lines, as sessions have them.
 */
#ifndef RUNTIMES_LINES_H
#define RUNTIMES_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINES_MAX_BYTES = 4096 };

/* Compressed numbers, as HotSpot also writes others. */
struct lines_numbers {
	const uint8_t *p, *end;
	bool has_zeroes; /* lines_have_zeroes */
};
/* By the version of Java: before some, bytes of numbers may be 0. */
bool lines_have_zeroes(uint64_t version);
/* The next one. False: there is none. */
bool lines_number(struct lines_numbers *n, uint32_t *out);

/* version: of Java. *out: pairs of bytes (TRACE_LINES_BYTES), from *first_line on. False: the table
 * is empty, longer, or invalid; or its bytecodes are in no order. */
bool lines_convert(const uint8_t *table, size_t bytes, uint64_t version,
		   uint8_t out[LINES_MAX_BYTES], uint32_t *out_bytes, uint32_t *first_line);

/* The line of a bytecode by such pairs; before the first one (-1) the first line. 0: none. */
uint32_t lines_at(const uint8_t *pairs, uint32_t bytes, uint32_t first_line, int64_t bytecode);

#endif
