/*
 * Run lengths and packed bits: the example of the format's description, and any numbers, read back.
 */
#include "kit.h"

#include "base/buf.h"
#include "export/parquet_run.h"

#include <stdlib.h>

enum { MAX_NUMBERS = 4096 };

static struct buf b;

HOOK(before_each)
{
	buf_init(&b, 1 << 20);
}

HOOK(after_each)
{
	buf_fini(&b);
}

static uint32_t read_varint(const uint8_t **p)
{
	uint32_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		v |= (uint32_t)(**p & 0x7f) << shift;
		if (!(*(*p)++ & 0x80))
			return v;
	}
}

/* Fails unless the bytes are just the numbers; what is more than nr is padding. */
static void expect(const uint32_t *v, size_t nr, unsigned width)
{
	const uint8_t *p = (const uint8_t *)b.data, *end = p + b.len;
	size_t at = 0;

	while (p < end) {
		uint32_t head = read_varint(&p), value = 0;
		size_t len = head & 1 ? (size_t)(head >> 1) * 8 : head >> 1;

		assert_true(len != 0);
		if (!(head & 1)) {
			assert_true(len >= 8);
			for (unsigned i = 0; i < (width + 7) / 8; i++)
				value |= (uint32_t)*p++ << 8 * i;
			for (; len--; at++)
				assert_int_equal(v[at], value);
			continue;
		}
		for (size_t i = 0; i < len; i++, at++) {
			value = 0;
			for (unsigned bit = 0; bit < width; bit++)
				value |=
				    (uint32_t)(p[(i * width + bit) / 8] >> (i * width + bit) % 8 &
					       1)
				    << bit;
			assert_int_equal(value, at < nr ? v[at] : 0);
		}
		p += len * width / 8;
		if (at > nr) { /* only the end is padded */
			assert_ptr_equal(p, end);
			at = nr;
		}
	}
	assert_int_equal(at, nr);
}

TEST(example)
{
	static const uint32_t v[] = {0, 1, 2, 3, 4, 5, 6, 7};

	parquet_run_add(&b, v, 8, 3);
	assert_int_equal(b.len, 4);
	assert_memory_equal(b.data, "\x03\x88\xc6\xfa", 4);
	expect(v, 8, 3);
}

TEST(width)
{
	assert_int_equal(parquet_run_width(0), 1);
	assert_int_equal(parquet_run_width(1), 1);
	assert_int_equal(parquet_run_width(2), 2);
	assert_int_equal(parquet_run_width(255), 8);
	assert_int_equal(parquet_run_width(256), 9);
	assert_int_equal(parquet_run_width(UINT32_MAX), 32);
}

TEST(nothing)
{
	parquet_run_add(&b, NULL, 0, 1);
	assert_int_equal(b.len, 0);
}

TEST(a_run_is_short)
{
	static uint32_t v[MAX_NUMBERS];

	for (size_t i = 0; i < MAX_NUMBERS; i++)
		v[i] = 1000;
	parquet_run_add(&b, v, MAX_NUMBERS, 10);
	assert_int_equal(b.len, 4);
	expect(v, MAX_NUMBERS, 10);
}

TEST(any_numbers)
{
	static uint32_t v[MAX_NUMBERS];

	srand(1);
	for (int round = 0; round < 300; round++) {
		unsigned width = 1 + (unsigned)rand() % 32;
		size_t nr = 1 + (size_t)rand() % (round % 2 ? 40 : MAX_NUMBERS);
		uint32_t mask = width == 32 ? UINT32_MAX : (1u << width) - 1;

		for (size_t i = 0; i < nr; i++)
			v[i] = i && rand() % 8 ? v[i - 1] : ((uint32_t)rand() * 2654435761u) & mask;
		buf_reset(&b);
		parquet_run_add(&b, v, nr, width);
		assert_int_equal(buf_error(&b), 0);
		expect(v, nr, width);
	}
}
