/*
 * Instructions have no fixed length, and are not decoded: their bytes are looked for, which seldom
 * are parts of others. A call leads into code of the machine, or to an address in r10. A frame of
 * its size is made by sub rsp, behind push rbp or before rbp is stored, and taken down by add rsp,
 * unless it is empty, and pop rbp; the machine may ask there whether to stop, before it returns or
 * goes on elsewhere.
 *
 * Source: x86.ad and c1_LIRAssembler_x86.cpp of OpenJDK 17 to 25.
 */
#include "runtimes/points.h"

#include "base/array.h"

#include <string.h>

enum {
	CALL_BYTES = 5,
	WORD = 8,
	POP_RBP = 0x5d,
	PUSH_RBP = 0x55,
	BY_8 = 0x83, /* add and sub, with one byte, else with four */
	BY_32 = 0x81,
	ADD_RSP = 0xc4,
	SUB_RSP = 0xec,
	MAX_BEHIND = 16, /* bytes of what makes the frame, behind sub */
	MAX_QUESTIONS = 4,
};

struct code {
	const struct points_of *of;
	const uint8_t *p;
	size_t bytes;
};

static bool has(const struct code *c, size_t at, const void *bytes, size_t nr)
{
	return at <= c->bytes && c->bytes - at >= nr && memcmp(c->p + at, bytes, nr) == 0;
}

/* How long the call is at a place; 0: there is none. */
static size_t call_at(const struct code *c, size_t at)
{
	static const uint8_t of_r10[] = {0x41, 0xff, 0xd2};
	int32_t distance;
	uint64_t to;

	if (has(c, at, of_r10, sizeof(of_r10)))
		return sizeof(of_r10);
	if (c->bytes - at < CALL_BYTES || c->p[at] != 0xe8)
		return 0;
	memcpy(&distance, c->p + at + 1, sizeof(distance));
	to = c->of->start + at + CALL_BYTES + (uint64_t)(int64_t)distance;
	return to >= c->of->low && to < c->of->high ? CALL_BYTES : 0;
}

/* Whether that operation on rsp ends there, with that size. */
static bool is_behind(const struct code *c, size_t at, uint8_t operation, uint32_t size)
{
	const uint8_t by_8[] = {0x48, BY_8, operation, (uint8_t)size};
	const uint8_t by_32[] = {0x48,
				 BY_32,
				 operation,
				 (uint8_t)size,
				 (uint8_t)(size >> 8),
				 (uint8_t)(size >> 16),
				 (uint8_t)(size >> 24)};

	return (size < 128 && at >= sizeof(by_8) &&
		has(c, at - sizeof(by_8), by_8, sizeof(by_8))) ||
	       (at >= sizeof(by_32) && has(c, at - sizeof(by_32), by_32, sizeof(by_32)));
}

/* But for the two words above. */
static bool is_behind_add(const struct code *c, size_t at)
{
	const uint32_t size = c->of->frame_bytes - 2 * WORD;

	return !size || is_behind(c, at, ADD_RSP, size);
}

/* Where push rbp ends that is before sub rsp; 0: there is none. */
static size_t push_before(const struct code *c, size_t sub)
{
	for (size_t i = sub; i > 0 && sub - i < MAX_BEHIND; i--)
		if (c->p[i - 1] == PUSH_RBP)
			return i;
	return 0;
}

/* How the frame is made, in instructions before that from which on it is there. False: that is not
 * known. */
static bool pass_begin(const struct code *c, points_fn *fn, void *arg)
{
	const size_t from = c->of->frame_from;
	const uint32_t size = c->of->frame_bytes;

	for (size_t at = from; at > 0 && from - at < MAX_BEHIND && from <= c->bytes; at--) {
		const bool is_pushed = is_behind(c, at, SUB_RSP, size - 2 * WORD);
		const size_t push = is_pushed ? push_before(c, at) : 0;

		if (!push && !is_behind(c, at, SUB_RSP, size - WORD))
			continue;
		fn(arg, 0, TRACE_POINT_ADDRESS);
		if (push)
			fn(arg, push, TRACE_POINT_POINTER);
		fn(arg, at, TRACE_POINT_WHOLE);
		return true;
	}
	return false;
}

/* What may stand before a return: cmp rsp with a member of the thread, and ja. */
static const struct question {
	uint8_t bytes[3], nr, len;
} questions[] = {{{0x49, 0x3b, 0xa7}, 3, 7}, {{0x49, 0x3b, 0x67}, 3, 4}, {{0x0f, 0x87}, 2, 6}};
/* What leaves the method: ret and jmp. */
static const struct question leaves[] = {{{0xc3}, 1, 1},
					 {{0xe9}, 1, 5},
					 {{0xeb}, 1, 2},
					 {{0xff, 0xe0}, 2, 2},
					 {{0x41, 0xff, 0xe2}, 3, 3}};

static size_t skip_any(const struct code *c, size_t at, const struct question *of, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (has(c, at, of[i].bytes, of[i].nr))
			return of[i].len;
	return 0;
}

/* How long the end of a frame is from pop rbp at a place on; 0: none is there. */
static size_t end_at(const struct code *c, size_t at)
{
	size_t to = at + 1, len;

	if (c->p[at] != POP_RBP || at < c->of->frame_from || !is_behind_add(c, at))
		return 0;
	for (size_t i = 0; i < MAX_QUESTIONS; i++)
		to += skip_any(c, to, questions, ARRAY_NR(questions));
	len = skip_any(c, to, leaves, ARRAY_NR(leaves));
	return len ? to + len - at : 0;
}

static bool has_end(const struct code *c)
{
	for (size_t i = 0; i < c->bytes; i++)
		if (end_at(c, i))
			return true;
	return false;
}

void points_find(const struct points_of *of, const uint8_t *code, size_t bytes, points_fn *fn,
		 void *arg)
{
	const struct code c = {of, code, bytes};
	const bool has_ends = of->frame_bytes >= 2 * WORD && has_end(&c);
	size_t call, end;

	if (has_ends && !pass_begin(&c, fn, arg))
		fn(arg, of->frame_from, TRACE_POINT_WHOLE);
	for (size_t i = has_ends ? of->frame_from : 0; i < bytes; i++) {
		call = call_at(&c, i);
		end = has_ends ? end_at(&c, i) : 0;
		if (end) {
			fn(arg, i, TRACE_POINT_POINTER);
			fn(arg, i + 1, TRACE_POINT_ADDRESS);
			fn(arg, i + end, TRACE_POINT_WHOLE);
			i += end - 1;
		} else if (call) {
			fn(arg, i + call, TRACE_POINT_RETURN);
			i += call - 1;
		}
	}
}
