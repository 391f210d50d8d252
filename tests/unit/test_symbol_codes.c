/*
 * Lines of code that an interpreter interprets, by tables of CPython 3.8 to 3.11 as their compilers
 * make them, and by what may stand there instead.
 */
#include "kit.h"

#include "profile/codes.h"
#include "symbol/codes.h"
#include "trace/trace.h"

/* Of this text, which begins in line 1:
 *   def f(n):
 *       s = 0
 *       for i in range(n):
 *           s += (i *
 *                 i)
 *
 *       return [
 *           x for x in s]
 */
static const uint8_t table[] = {
    0x80, 0x00, 0xd8, 0x08, 0x09, 0x80, 0x41, 0xdd, 0x0d, 0x12, 0x90, 0x31, 0x89, 0x58,
    0x8c, 0x58, 0xf0, 0x00, 0x02, 0x05, 0x11, 0xf0, 0x00, 0x02, 0x05, 0x11, 0x88, 0x01,
    0xd8, 0x08, 0x09, 0x88, 0x61, 0xd8, 0x0e, 0x0f, 0xf1, 0x03, 0x01, 0x0f, 0x10, 0xf1,
    0x00, 0x01, 0x09, 0x11, 0x88, 0x01, 0x88, 0x01, 0xf0, 0x06, 0x01, 0x0c, 0x16, 0xf0,
    0x00, 0x01, 0x0c, 0x16, 0xd8, 0x13, 0x14, 0xf0, 0x03, 0x01, 0x0c, 0x16, 0xf1, 0x00,
    0x01, 0x0c, 0x16, 0xf4, 0x00, 0x01, 0x0c, 0x16, 0xf0, 0x00, 0x01, 0x05, 0x16};

/* co_lines() of it, in instructions: those before each end are of the line. */
static const struct {
	int32_t end;
	uint32_t line;
} lines[] = {{1, 1}, {3, 2}, {20, 3}, {22, 4}, {23, 5}, {29, 4}, {31, 7}, {32, 8}, {41, 7}};

/* The same of 3.8 and 3.9, and of 3.10. */
static const uint8_t steps[] = {0x00, 0x01, 0x04, 0x01, 0x0c, 0x01, 0x04, 0x01,
				0x02, 0xff, 0x08, 0x03, 0x06, 0x01, 0x02, 0xff};
static const uint8_t ranges[] = {0x04, 0x01, 0x0c, 0x01, 0x04, 0x01, 0x02, 0x01,
				 0x08, 0xff, 0x06, 0x03, 0x02, 0x01, 0x06, 0xff};
static const struct {
	int32_t end;
	uint32_t line;
} older_lines[] = {{2, 2}, {8, 3}, {10, 4}, {11, 5}, {15, 4}, {18, 7}, {19, 8}, {22, 7}};

static struct profile_code code_of(uint32_t kind, const uint8_t *bytes, size_t len)
{
	return (struct profile_code){
	    .first_line = 1, .table = kind, .lines = bytes, .lines_bytes = (uint32_t)len};
}

TEST(each_instruction_has_its_line)
{
	const struct profile_code code = code_of(TRACE_LINES_LOCATIONS, table, sizeof(table));
	int32_t at = 0;

	for (size_t i = 0; i < NR(lines); i++)
		for (; at < lines[i].end; at++)
			assert_int_equal(symbol_codes_line_at(&code, at), lines[i].line);
	assert_int_equal(symbol_codes_line_at(&code, at), 0);
}

static void assert_older_lines(const struct profile_code *code)
{
	int32_t at = 0;

	for (size_t i = 0; i < NR(older_lines); i++)
		for (; at < older_lines[i].end; at++)
			assert_int_equal(symbol_codes_line_at(code, at), older_lines[i].line);
}

TEST(each_instruction_has_its_line_by_older_tables)
{
	const struct profile_code by_steps = code_of(TRACE_LINES_STEPS, steps, sizeof(steps)),
				  by_ranges = code_of(TRACE_LINES_RANGES, ranges, sizeof(ranges));

	assert_older_lines(&by_steps);
	assert_older_lines(&by_ranges);
	assert_int_equal(symbol_codes_line_at(&by_ranges, 22), 0);
}

TEST(a_frame_may_have_its_line)
{
	const struct profile_code code = code_of(TRACE_LINES_OF_FRAMES, NULL, 0);

	assert_int_equal(symbol_codes_line_at(&code, 17), 17);
	assert_int_equal(symbol_codes_line_at(&code, 0), 0);
	assert_int_equal(symbol_codes_line_at(&code, INT32_MAX), INT32_MAX);
}

TEST(a_range_may_have_no_line)
{
	/* a long one has several pairs, as have lines far apart */
	static const uint8_t bytes[] = {0x00, 0x7f, 0x02, 0x64, 0x04, 0x80, 0x02, 0x01};
	const struct profile_code code = code_of(TRACE_LINES_RANGES, bytes, sizeof(bytes));

	assert_int_equal(symbol_codes_line_at(&code, 0), 1 + 0x7f + 0x64);
	assert_int_equal(symbol_codes_line_at(&code, 1), 0);
	assert_int_equal(symbol_codes_line_at(&code, 2), 0);
	assert_int_equal(symbol_codes_line_at(&code, 3), 1 + 0x7f + 0x64 + 1);
}

TEST(before_the_first_instruction_is_the_first_line)
{
	const struct profile_code code = code_of(TRACE_LINES_LOCATIONS, table, sizeof(table));

	assert_int_equal(symbol_codes_line_at(&code, -1), 1);
}

TEST(other_tables_have_no_lines)
{
	struct profile_code code = code_of(TRACE_LINES_LOCATIONS, table, sizeof(table));

	code.table = TRACE_LINES_NONE;
	assert_int_equal(symbol_codes_line_at(&code, 0), 0);
	code.table = 77;
	assert_int_equal(symbol_codes_line_at(&code, 0), 0);
}

/* A copy of exactly that length, so that a read behind it is found. */
static void read_truncated(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len + 1);
	struct profile_code code;

	memcpy(copy, bytes, len);
	for (uint32_t kind = TRACE_LINES_LOCATIONS; kind <= TRACE_LINES_RANGES; kind++) {
		code = code_of(kind, copy, len);
		for (int32_t at = -2; at < 50; at++)
			(void)symbol_codes_line_at(&code, at);
	}
	free(copy);
}

TEST(a_table_may_end_anywhere_and_be_anything)
{
	uint8_t bytes[64];

	for (size_t len = 0; len <= sizeof(table); len++)
		read_truncated(table, len);
	for (unsigned value = 0; value < 256; value++) {
		memset(bytes, (int)value, sizeof(bytes));
		read_truncated(bytes, sizeof(bytes));
	}
}

TEST(a_line_that_no_file_has_is_none)
{
	/* 200 lines back, in the long form */
	static const uint8_t back[] = {0xf0, 0x51, 0x06, 0x00, 0x00, 0x00};
	const struct profile_code code = code_of(TRACE_LINES_LOCATIONS, back, sizeof(back));

	assert_int_equal(symbol_codes_line_at(&code, 0), 0);
}
