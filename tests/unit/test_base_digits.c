/*
 * Digits against those of printf, at every length.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/digits.h"

#include <inttypes.h>

/* Room as promised, and a byte behind it that must stay. */
static char room[DIGITS_ROOM + 1];

static void check(const char *what, const char *end, uint64_t v, const char *want)
{
	size_t len = (size_t)(end - room);

	if (len != strlen(want) || memcmp(room, want, len) || room[DIGITS_ROOM] != '!')
		fail_msg("%s of %#" PRIx64 ": %.*s", what, v, (int)len, room);
}

static void check_all(uint64_t v)
{
	char want[32];
	struct buf b;

	memset(room, '!', sizeof(room));
	snprintf(want, sizeof(want), "%" PRIu64, v);
	check("decimal", digits_dec(room, v), v, want);
	snprintf(want, sizeof(want), "%020" PRIu64, v);
	check("20 digits", digits_dec_fixed(room, v, 20), v, want);
	snprintf(want, sizeof(want), "%09" PRIu64, v % 1000000000);
	check("9 digits", digits_dec_fixed(room, v, 9), v, want);
	snprintf(want, sizeof(want), "%" PRIx64, v);
	check("hexadecimal", digits_hex(room, v), v, want);

	buf_init(&b, 100);
	buf_u64(&b, v);
	buf_addc(&b, ' ');
	buf_hex(&b, v);
	snprintf(want, sizeof(want), "%" PRIu64, v);
	assert_memory_equal(buf_str(&b), want, strlen(want));
	snprintf(want, sizeof(want), " %" PRIx64, v);
	assert_string_equal(strchr(buf_str(&b), ' '), want);
	buf_fini(&b);
}

TEST(as_printf_has_them)
{
	uint64_t seed = 1, power = 1;

	for (uint64_t v = 0; v < 70000; v++)
		check_all(v);
	for (int i = 0; i < 20; i++, power *= 10)
		for (int k = -1; k <= 1; k++)
			check_all(power + (uint64_t)k);
	for (int i = 0; i < 64; i++)
		for (int k = -1; k <= 1; k++)
			check_all(((uint64_t)1 << i) + (uint64_t)k);
	for (int i = 0; i < 50000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		check_all(seed >> (seed & 63));
	}
	check_all(0x0123456789abcdef);
	check_all(0xfedcba9876543210);
	check_all(UINT64_MAX);
}

/* Near its ceiling a buffer takes what fits, and nothing that does not. */
TEST(ceilings)
{
	for (size_t max = 0; max < 24; max++) {
		struct buf b;

		buf_init(&b, max);
		buf_u64(&b, UINT64_MAX);
		assert_int_equal(buf_error(&b), max < 20 ? -EFBIG : 0);
		buf_reset(&b);
		buf_hex(&b, UINT64_MAX);
		assert_int_equal(buf_error(&b), max < 16 ? -EFBIG : 0);
		buf_fini(&b);
	}
}
