/*
 * The bounded cursor and the checksum: never past the end, an underflow sticks; crc32c by both
 * ways is the same as by the definition.
 */
#include "kit.h"

#include "base/cursor.h"

/* Both ways of computing it are static; on this CPU crc32c() takes but one of them. */
#include "base/crc32c.c" /* NOLINT(bugprone-suspicious-include) */

static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

TEST(reads)
{
	struct cursor c;

	cursor_init(&c, bytes, sizeof(bytes));
	assert_int_equal(cursor_u8(&c), 1);
	assert_int_equal(cursor_le16(&c), 0x0302);
	assert_int_equal(cursor_le32(&c), 0x07060504);
	assert_int_equal(cursor_le64(&c), 0x0f0e0d0c0b0a0908ull);
	assert_ptr_equal(cursor_bytes(&c, 1), bytes + 15);
	assert_int_equal(c.left, 0);
	assert_true(cursor_ok(&c));
	assert_non_null(cursor_bytes(&c, 0));
	assert_true(cursor_ok(&c));
}

/* The same fields over every shorter input: zeros from the first that does not fit, to the end. */
TEST(cut_at_every_byte)
{
	static const size_t ends[] = {1, 3, 7, 15, 16};

	for (size_t len = 0; len < sizeof(bytes); len++) {
		uint8_t *exact = memcpy(malloc(len + 1), bytes, len + 1); /* ASan guards its end */
		struct cursor c;
		uint64_t v[5];

		exact = realloc(exact, len ? len : 1);
		cursor_init(&c, exact, len);
		v[0] = cursor_u8(&c);
		v[1] = cursor_le16(&c);
		v[2] = cursor_le32(&c);
		v[3] = cursor_le64(&c);
		v[4] = cursor_u8(&c);
		for (int i = 0; i < 5; i++)
			assert_int_equal(v[i] != 0, ends[i] <= len);
		assert_false(cursor_ok(&c));
		free(exact);
	}
}

TEST(underflow_sticks)
{
	struct cursor c;
	size_t len;

	cursor_init(&c, bytes, 4);
	assert_null(cursor_bytes(&c, SIZE_MAX));
	assert_int_equal(cursor_u8(&c), 0); /* there would be one */
	assert_null(cursor_bytes(&c, 0));
	cursor_skip(&c, 1);
	assert_string_equal(cursor_string16(&c, &len), "");
	assert_int_equal(len, 0);
	assert_false(cursor_ok(&c));
}

TEST(string16)
{
	static const char data[] = "\3\0abc\0\0\5\0xy";
	struct cursor c;
	size_t len;

	cursor_init(&c, data, sizeof(data) - 1);
	assert_memory_equal(cursor_string16(&c, &len), "abc", 3);
	assert_int_equal(len, 3);
	cursor_string16(&c, &len);
	assert_int_equal(len, 0);
	assert_true(cursor_ok(&c));
	assert_string_equal(cursor_string16(&c, &len), "");
	assert_int_equal(len, 0);
	assert_false(cursor_ok(&c));
}

TEST(nothing)
{
	struct cursor c;

	cursor_init(&c, NULL, 0);
	cursor_skip(&c, 0);
	assert_true(cursor_ok(&c));
	cursor_skip(&c, 1);
	assert_false(cursor_ok(&c));
}

/* By the definition, a bit at a time. */
static uint32_t slow_crc32c(uint32_t crc, const uint8_t *p, size_t len)
{
	crc = ~crc;
	while (len--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

TEST(crc_known)
{
	uint8_t block[32];

	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(0, "", 0), 0);
	memset(block, 0, sizeof(block)); /* RFC 3720, B.4 */
	assert_int_equal(crc32c(0, block, 32), 0x8a9136aa);
	memset(block, 0xff, sizeof(block));
	assert_int_equal(crc32c(0, block, 32), 0x62a8ab43);
}

TEST(crc_both_ways)
{
	uint8_t data[300];

	srand(1);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)rand();
	crc32c(0, data, 1); /* makes the tables */
	for (int i = 0; i < 20000; i++) {
		size_t from = (size_t)rand() % 17, len = (size_t)rand() % (sizeof(data) - 17);
		uint32_t start = i % 2 ? (uint32_t)rand() : 0;
		uint32_t want = slow_crc32c(start, data + from, len);

		assert_int_equal(crc32c(start, data + from, len), want);
		assert_int_equal(~update_tables(~start, data + from, len), want);
	}
}

/* Long inputs, which the CPU's way takes in three streams: each length around each edge. */
TEST(crc_long)
{
	enum { ROUND = 3 * 1024, MAX = 3 * ROUND + 64 };
	static const size_t edges[] = {ROUND, 2 * ROUND, 3 * ROUND};
	static uint8_t data[MAX + 8];

	srand(2);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)rand();
	for (size_t i = 0; i < NR(edges); i++)
		for (size_t len = edges[i] - 17; len <= edges[i] + 17; len++) {
			size_t from = len % 8;
			uint32_t start = (uint32_t)rand();
			uint32_t want = slow_crc32c(start, data + from, len);

			assert_int_equal(crc32c(start, data + from, len), want);
			assert_int_equal(~update_tables(~start, data + from, len), want);
		}
}

TEST(crc_goes_on)
{
	for (size_t cut = 0; cut <= sizeof(bytes); cut++)
		assert_int_equal(crc32c(crc32c(0, bytes, cut), bytes + cut, sizeof(bytes) - cut),
				 crc32c(0, bytes, sizeof(bytes)));
}
