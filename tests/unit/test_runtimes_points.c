/*
 * Points of code as HotSpot's compilers write it.
 */
#include "kit.h"

#include "runtimes/points.h"

#include <string.h>

enum { START = 0x10000, FRAME = 0x20 };

static struct {
	size_t distance;
	enum trace_compiled_point point;
} found[32];
static size_t nr_found;
static uint32_t from;

HOOK(before_each)
{
	from = 5;
}

static void on_point(void *arg, size_t distance, enum trace_compiled_point point)
{
	(void)arg;
	assert_true(nr_found < NR(found));
	found[nr_found].distance = distance;
	found[nr_found++].point = point;
}

static void find(const uint8_t *code, size_t bytes, uint32_t frame_bytes)
{
	const struct points_of of = {.start = START,
				     .low = 0x8000,
				     .high = 0x20000,
				     .frame_bytes = frame_bytes,
				     .frame_from = from};

	nr_found = 0;
	points_find(&of, code, bytes, on_point, NULL);
}

static void expect(size_t i, size_t distance, enum trace_compiled_point point)
{
	assert_true(i < nr_found);
	assert_int_equal(found[i].distance, distance);
	assert_int_equal(found[i].point, point);
}

static const uint8_t code[] = {
    0x55, 0x48, 0x83, 0xec, 0x10,             /* push rbp; sub rsp, 16 */
    0xe8, 0x00, 0x01, 0x00, 0x00,             /* 5: call into the machine's code */
    0xe8, 0x00, 0x00, 0x00, 0x70,             /* 10: what only looks like one */
    0x41, 0xff, 0xd2,                         /* 15: call r10 */
    0x48, 0x83, 0xc4, 0x10, 0x5d,             /* 18: add rsp, 16; pop rbp */
    0x49, 0x3b, 0xa7, 0x48, 0x03, 0x00, 0x00, /* 23: cmp rsp, [r15 + …] */
    0x0f, 0x87, 0x11, 0x00, 0x00, 0x00, 0xc3, /* 30: ja; 36: ret */
    0x90,                                     /* 37 */
    0x48, 0x81, 0xc4, 0x10, 0x00, 0x00, 0x00, 0x5d, 0xe9, 0, 0, 0, 0, /* 38: pop 45, jmp 46 */
    0x48, 0x83, 0xc4, 0x18, 0x5d, 0xc3,                               /* 51: of another size */
};

TEST(of_compilers)
{
	find(code, sizeof(code), FRAME);
	expect(0, 0, TRACE_POINT_ADDRESS);
	expect(1, 1, TRACE_POINT_POINTER);
	expect(2, 5, TRACE_POINT_WHOLE);
	expect(3, 10, TRACE_POINT_RETURN);
	expect(4, 18, TRACE_POINT_RETURN);
	expect(5, 22, TRACE_POINT_POINTER);
	expect(6, 23, TRACE_POINT_ADDRESS);
	expect(7, 37, TRACE_POINT_WHOLE);
	expect(8, 45, TRACE_POINT_POINTER);
	expect(9, 46, TRACE_POINT_ADDRESS);
	expect(10, 51, TRACE_POINT_WHOLE);
	assert_int_equal(nr_found, 11);
}

/* rbp is stored once the frame is made. */
TEST(without_push)
{
	static const uint8_t stored[] = {0x48, 0x81, 0xec, 0x18, 0,    0,    0, /* sub rsp, 24 */
					 0x48, 0x89, 0x6c, 0x24, 0x10, 0x90, 0x48,
					 0x83, 0xc4, 0x10, 0x5d, 0xc3};

	from = 12;
	find(stored, sizeof(stored), FRAME);
	expect(0, 0, TRACE_POINT_ADDRESS);
	expect(1, 7, TRACE_POINT_WHOLE);
	expect(2, 17, TRACE_POINT_POINTER);
	expect(3, 18, TRACE_POINT_ADDRESS);
	expect(4, 19, TRACE_POINT_WHOLE);
	assert_int_equal(nr_found, 5);
	from = 6; /* another one: how it is made is not known */
	find(stored, sizeof(stored), FRAME);
	expect(0, 6, TRACE_POINT_WHOLE);
	expect(1, 17, TRACE_POINT_POINTER);
}

/* Without an end it is not known how much of the frame is there. */
TEST(without_an_end)
{
	find(code, 22, FRAME);
	expect(0, 10, TRACE_POINT_RETURN);
	expect(1, 18, TRACE_POINT_RETURN);
	assert_int_equal(nr_found, 2);
	find(code, sizeof(code), 0);
	assert_int_equal(nr_found, 2);
}

/* What is no end, however often it asks. */
TEST(asks_for_ever)
{
	uint8_t asks[64] = {0x5d};
	size_t at = 1;

	for (; at + 7 < sizeof(asks); at += 7)
		memcpy(asks + at, (uint8_t[]){0x49, 0x3b, 0xa7, 0, 0, 0, 0}, 7);
	asks[at] = 0xc3;
	from = 0;
	find(asks, at + 1, 16);
	assert_int_equal(nr_found, 0);
}

/* A frame of no words of its own; and at each length. */
TEST(empty_frame)
{
	static const uint8_t small[] = {0x55, 0x90, 0x90, 0x90, 0x90, 0x5d, 0xc3, 0x90};

	find(small, sizeof(small), 16);
	expect(0, 5, TRACE_POINT_WHOLE);
	expect(1, 5, TRACE_POINT_POINTER);
	expect(2, 6, TRACE_POINT_ADDRESS);
	expect(3, 7, TRACE_POINT_WHOLE);
	for (size_t i = 0; i <= sizeof(code); i++) {
		uint8_t *copy = malloc(i + !i);

		assert_non_null(copy);
		memcpy(copy, code, i);
		find(copy, i, FRAME);
		free(copy);
	}
}
