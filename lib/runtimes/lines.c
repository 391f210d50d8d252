/*
 * A table has an entry of a byte where bytecodes and lines advance little (5 and 3 bits), else a
 * mark and two numbers; 0 ends it. Source: compressedStream.hpp, method.cpp and unsigned5.hpp of
 * OpenJDK.
 */
#include "runtimes/lines.h"

enum {
	END = 0,
	LONG = 0xff,
	LINE_BITS = 3,
	/* of numbers: bytes from here on are followed by more, each of six bits more */
	MORE_FROM = 192,
	MORE_BITS = 6,
	MAX_NUMBER_BYTES = 5,
	WITHOUT_ZEROES = 20, /* the version from which on no byte of a number is 0 */
	MAX_FURTHER = 255,   /* of a pair */
	MAX_LINES = 127,
	MIN_LINES = -128,
};

struct table {
	struct lines_numbers in;
	uint8_t *out;
	uint32_t nr_out;
};

bool lines_have_zeroes(uint64_t version)
{
	return version < WITHOUT_ZEROES;
}

bool lines_number(struct lines_numbers *n, uint32_t *out)
{
	const uint8_t least = n->has_zeroes ? 0 : 1;
	uint64_t sum = 0;

	for (unsigned i = 0; i < MAX_NUMBER_BYTES; i++) {
		if (n->p == n->end || *n->p < least)
			return false;
		sum += (uint64_t)(*n->p - least) << i * MORE_BITS;
		if (*n->p++ < MORE_FROM)
			break;
	}
	*out = (uint32_t)sum;
	return true;
}

static bool read_signed(struct table *t, int64_t *out)
{
	uint32_t v;

	if (!lines_number(&t->in, &v))
		return false;
	*out = v & 1 ? -(int64_t)(v >> 1) - 1 : (int64_t)(v >> 1);
	return true;
}

static bool read_entry(struct table *t, int64_t *further, int64_t *lines)
{
	const uint8_t first = *t->in.p++;

	if (first == LONG)
		return read_signed(t, further) && read_signed(t, lines);
	*further = first >> LINE_BITS;
	*lines = first & ((1 << LINE_BITS) - 1);
	return true;
}

static bool add_pair(struct table *t, int64_t further, int64_t lines)
{
	if (t->nr_out + 2 > LINES_MAX_BYTES)
		return false;
	t->out[t->nr_out++] = (uint8_t)further;
	t->out[t->nr_out++] = (uint8_t)(int8_t)lines;
	return true;
}

/* Lines change behind all of these bytecodes. */
static bool add_entry(struct table *t, int64_t further, int64_t lines)
{
	for (; further > MAX_FURTHER; further -= MAX_FURTHER)
		if (!add_pair(t, MAX_FURTHER, 0))
			return false;
	do {
		const int64_t n = lines > MAX_LINES   ? MAX_LINES
				  : lines < MIN_LINES ? MIN_LINES
						      : lines;

		if (!add_pair(t, further, n))
			return false;
		further = 0;
		lines -= n;
	} while (lines);
	return true;
}

bool lines_convert(const uint8_t *table, size_t bytes, uint64_t version,
		   uint8_t out[LINES_MAX_BYTES], uint32_t *out_bytes, uint32_t *first_line)
{
	struct table t = {
	    .in = {.p = table, .end = table + bytes, .has_zeroes = lines_have_zeroes(version)},
	    .out = out};
	int64_t first = 0, further, lines;

	while (t.in.p < t.in.end && *t.in.p != END) {
		if (!read_entry(&t, &further, &lines) || further < 0 || further > UINT16_MAX)
			return false;
		if (!first)
			first = lines;
		if (first <= 0 || first > UINT16_MAX ||
		    !add_entry(&t, further, first == lines && !t.nr_out ? 0 : lines))
			return false;
	}
	if (t.in.p == t.in.end || !first)
		return false;
	*out_bytes = t.nr_out;
	*first_line = (uint32_t)first;
	return true;
}

uint32_t lines_at(const uint8_t *pairs, uint32_t bytes, uint32_t first_line, int64_t bytecode)
{
	int64_t line = first_line, covered = 0;

	for (uint32_t i = 0; i + 1 < bytes; i += 2) {
		covered += pairs[i];
		if (covered > bytecode)
			break;
		line += (int8_t)pairs[i + 1];
	}
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}
