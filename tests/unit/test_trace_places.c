/*
 * Sums of places in few bytes: what is written is read back, and what nobody writes is invalid.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/place.h"
#include "trace/reader.h"
#include "trace/writer.h"

enum { MAX_BYTES = 4096, UNUSED = 99 };

/* The last place has that sum, and so many of the first ones 1 and -1 in turn. */
static void fill(int16_t sums[PLACE_SUMS], unsigned nr, int16_t last)
{
	memset(sums, 0, PLACE_SUMS * sizeof(*sums));
	for (unsigned i = 0; i < nr; i++)
		sums[i] = i % 2 ? -1 : 1;
	sums[PLACE_SUMS - 1] = last;
}

static void check_same(unsigned nr, int16_t last, size_t expected_bytes)
{
	int16_t sums[PLACE_SUMS], read[PLACE_SUMS];
	bool is_known = false;
	struct buf b;
	const uint8_t *p;

	fill(sums, nr, last);
	buf_init(&b, MAX_BYTES);
	trace_add_places(&b, sums);
	assert_int_equal(buf_error(&b), 0);
	assert_int_equal(b.len, expected_bytes);
	p = (const uint8_t *)b.data;
	for (size_t len = 0; len < b.len; len++) {
		memset(read, UNUSED, sizeof(read));
		assert_int_equal(trace_next_places(p, len, read, &is_known), 0);
		assert_false(is_known);
		assert_int_equal(read[0], UNUSED << 8 | UNUSED);
	}
	trace_add_places(&b, NULL); /* the next item is not read */
	assert_int_equal(trace_next_places(p, b.len, read, &is_known), expected_bytes);
	assert_true(is_known);
	assert_memory_equal(read, sums, sizeof(sums));
	buf_fini(&b);
}

TEST(what_is_written_is_read)
{
	check_same(0, 0, 1);
	check_same(1, 0, 1 + 2);
	check_same(3, 127, 1 + 2 * 4);
	check_same(3, -128, 1 + 2 * 4);
	check_same(95, 5, 1 + 2 * PLACE_SUMS);
	check_same(0, 128, 1 + 2 * PLACE_SUMS);
	check_same(0, -129, 1 + 2 * PLACE_SUMS);
	check_same(95, INT16_MIN, 1 + 2 * PLACE_SUMS);
	check_same(95, INT16_MAX, 1 + 2 * PLACE_SUMS);
}

TEST(unknown)
{
	int16_t sums[PLACE_SUMS] = {UNUSED};
	bool is_known = true;
	struct buf b;

	buf_init(&b, MAX_BYTES);
	trace_add_places(&b, NULL);
	assert_int_equal(b.len, 1);
	assert_int_equal(trace_next_places((const uint8_t *)b.data, 1, sums, &is_known), 1);
	assert_false(is_known);
	assert_int_equal(sums[0], UNUSED);
	buf_fini(&b);
}

TEST(invalid)
{
	static const struct {
		uint8_t bytes[8];
		size_t len;
	} cases[] = {
	    {{PLACE_SUMS + 1}, 8},   /* more pairs than places */
	    {{253}, 8},              /* no kind */
	    {{1, PLACE_SUMS, 1}, 3}, /* no place */
	    {{2, 5, 1, 5, 1}, 5},
	    {{2, 5, 1, 4, 1}, 5}, /* one twice, or not in order */
	};

	for (size_t i = 0; i < NR(cases); i++) {
		int16_t sums[PLACE_SUMS] = {UNUSED};
		bool is_known = false;

		assert_int_equal(trace_next_places(cases[i].bytes, cases[i].len, sums, &is_known),
				 0);
		assert_false(is_known);
		assert_int_equal(sums[0], UNUSED);
	}
}
