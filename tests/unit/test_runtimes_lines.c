/*
 * Tables of lines of HotSpot, of both ways to write numbers, and tables that are none.
 */
#include "kit.h"

#include "runtimes/lines.h"

#include <string.h>

#define B(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static const struct {
	const char *name;
	const uint8_t *table;
	size_t bytes;
	uint64_t version;
	bool is_valid;
	uint32_t first;
	const uint8_t *want;
	size_t want_bytes;
} rows[] = {
    {"short entries", B(0xff, 0, 20, 4 << 3 | 1, 7 << 3 | 2, 0), 17, true, 10, B(0, 0, 4, 1, 7, 2)},
    {"the same without zeroes", B(0xff, 1, 21, 4 << 3 | 1, 0), 20, true, 10, B(0, 0, 4, 1)},
    {"a zero that is none", B(0xff, 0, 20, 0), 20, false, 0, NULL, 0},
    {"backwards", B(0xff, 0, 20, 0xff, 12, 5, 0), 17, true, 10, B(0, 0, 6, 0xfd)},
    {"two bytes", B(0xff, 0, 192 + 8, 3, 0), 17, true, 196, B(0, 0)},
    {"two bytes without zeroes", B(0xff, 1, 192 + 9, 4, 0), 25, true, 196, B(0, 0)},
    {"far", B(0xff, 0, 20, 0xff, 192 + 24, 6, 192 + 8, 4, 0), 17, true, 10,
     B(0, 0, 255, 0, 45, 127, 0, 101)},
    {"short from the first on", B(0 << 3 | 5, 2 << 3 | 0, 0), 17, true, 5, B(0, 0, 2, 0)},
    {"empty", B(0), 17, false, 0, NULL, 0},
    {"without an end", B(0xff, 0, 20, 4 << 3 | 1), 17, false, 0, NULL, 0},
    {"a number without an end", B(0xff, 0, 200), 17, false, 0, NULL, 0},
    {"bytecodes backwards", B(0xff, 0, 20, 0xff, 1, 2, 0), 17, false, 0, NULL, 0},
    {"no first line", B(0xff, 0, 0, 0), 17, false, 0, NULL, 0},
};

TEST(tables)
{
	for (size_t i = 0; i < NR(rows); i++) {
		uint8_t out[LINES_MAX_BYTES];
		uint32_t bytes = 99, first = 99;

		if (lines_convert(rows[i].table, rows[i].bytes, rows[i].version, out, &bytes,
				  &first) != rows[i].is_valid)
			fail_msg("%s", rows[i].name);
		if (!rows[i].is_valid)
			continue;
		if (bytes != rows[i].want_bytes || memcmp(out, rows[i].want, bytes) != 0)
			fail_msg("%s: %u bytes", rows[i].name, bytes);
		assert_int_equal(first, rows[i].first);
	}
}

/* The line of a bytecode: pairs say from where on it is another one. */
TEST(at)
{
	static const uint8_t pairs[] = {0, 0, 4, 1, 255, 0, 1, 0xfd};
	static const struct {
		int64_t bytecode;
		uint32_t line;
	} want[] = {{-1, 10}, {0, 10}, {3, 10}, {4, 11}, {259, 11}, {260, 8}, {INT64_MAX, 8}};

	for (size_t i = 0; i < NR(want); i++)
		assert_int_equal(lines_at(pairs, sizeof(pairs), 10, want[i].bytecode),
				 want[i].line);
	assert_int_equal(lines_at(pairs, sizeof(pairs), 2, 260), 0); /* none */
	assert_int_equal(lines_at(pairs, 3, 10, 9), 10);
}

/* Whatever stands there, and however much. */
TEST(hostile)
{
	uint8_t table[LINES_MAX_BYTES], out[LINES_MAX_BYTES];
	uint32_t bytes, first, seed = 1;

	for (int i = 0; i < 2000; i++) {
		const size_t len = (size_t)i % sizeof(table);

		for (size_t k = 0; k < len; k++)
			table[k] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16) | (i & 1);
		if (lines_convert(table, len, i % 2 ? 17 : 25, out, &bytes, &first))
			assert_true(bytes <= sizeof(out) && bytes % 2 == 0);
	}
	memset(table, 0xf9, sizeof(table) - 1); /* more than fits */
	table[sizeof(table) - 1] = 0;
	table[0] = 1;
	assert_false(lines_convert(table, sizeof(table), 17, out, &bytes, &first));
}
