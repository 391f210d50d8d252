/*
 * Values of calls, added up: over frames, and to ranges where there are too many.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "counts/values.h"
#include "trace/trace.h"

static struct trace_value value(uint32_t type, uint32_t kind, int64_t number, uint64_t calls)
{
	return (struct trace_value){.type = type,
				    .kind = kind,
				    .number = (uint64_t)number,
				    .calls = calls,
				    .timed = calls,
				    .wall_ns = calls * 10,
				    .max_ns = calls,
				    .sum = calls * (uint64_t)number,
				    .name = "f",
				    .object = "/x",
				    .field_name = "size",
				    .text = ""};
}

static void add(struct counts_values *l, struct trace_value v)
{
	assert_int_equal(counts_values_add(l, &v), 0);
}

TEST(sums)
{
	struct counts_values l = {.nr_skipped = 0};
	struct trace_value other = value(TRACE_VALUE_UNSIGNED, TRACE_VALUE_NUMBER, 7, 1);
	struct counts_value *row;
	size_t nr;

	other.field_name = "result";
	other.field = 1;
	add(&l, value(TRACE_VALUE_UNSIGNED, TRACE_VALUE_NUMBER, 7, 2));
	add(&l, value(TRACE_VALUE_UNSIGNED, TRACE_VALUE_NUMBER, 9, 6));
	add(&l, other);
	add(&l, value(TRACE_VALUE_UNSIGNED, TRACE_VALUE_NUMBER, 7, 3));
	assert_int_equal(counts_values_rows(&l, &row, &nr), 0);
	assert_int_equal(nr, 3);
	assert_true(row[0].number == 9 && row[0].calls == 6); /* the most calls first */
	assert_true(row[1].number == 7 && row[1].calls == 5 && row[1].timed == 5 &&
		    row[1].wall_ns == 50 && row[1].max_ns == 3 && row[1].sum == 35);
	assert_string_equal(counts_value_text(&l, row[2].field_name), "result");
	mem_free(row);
	counts_values_fini(&l);
}

/* A range has all the numbers that lie in it, and those of another argument stay. */
TEST(ranges)
{
	static const struct {
		int64_t number, low, high;
		uint64_t calls;
	} is[] = {
	    {-2, -3, -2, 1}, {-1, -1, -1, 4}, {0, 0, 0, 1}, {3, 4, 7, 20}, {11, 1024, 2047, 1}};
	struct counts_values l = {.nr_skipped = 0};
	struct trace_value other = value(TRACE_VALUE_SIGNED, TRACE_VALUE_NUMBER, 5, 1);
	struct counts_value *row;
	size_t nr;

	other.field = 1;
	add(&l, other);
	add(&l, value(TRACE_VALUE_SIGNED, TRACE_VALUE_NUMBER, 5, 8));
	add(&l, value(TRACE_VALUE_SIGNED, TRACE_VALUE_NUMBER, -1, 4));
	add(&l, value(TRACE_VALUE_SIGNED, TRACE_VALUE_RANGE, 3, 2));
	add(&l, value(TRACE_VALUE_SIGNED, TRACE_VALUE_NUMBER, 7, 10));
	add(&l, value(TRACE_VALUE_SIGNED, TRACE_VALUE_NUMBER, 0, 1));
	add(&l, value(TRACE_VALUE_SIGNED, TRACE_VALUE_RANGE, -2, 1));
	add(&l, value(TRACE_VALUE_SIGNED, TRACE_VALUE_RANGE, 11, 1));
	add(&l, value(TRACE_VALUE_SIGNED, TRACE_VALUE_UNREADABLE, 0, 9));
	assert_int_equal(counts_values_rows(&l, &row, &nr), 0);
	assert_int_equal(nr, NR(is) + 2);
	for (size_t i = 0; i < NR(is); i++) {
		int64_t low;
		uint64_t high;

		assert_int_equal(row[i].kind, TRACE_VALUE_RANGE);
		assert_int_equal(row[i].number, (uint64_t)is[i].number);
		assert_int_equal(row[i].calls, is[i].calls);
		counts_value_range(&row[i], &low, &high);
		assert_true(low == is[i].low && high == (uint64_t)is[i].high);
	}
	assert_true(row[NR(is)].kind == TRACE_VALUE_UNREADABLE);
	assert_true(row[NR(is) + 1].kind == TRACE_VALUE_NUMBER && row[NR(is) + 1].number == 5);
	mem_free(row);
	counts_values_fini(&l);
}

TEST(widest_ranges)
{
	const struct counts_value most = {.number = 64}, least = {.number = (uint64_t)-64},
				  hostile = {.number = 1000};
	int64_t low;
	uint64_t high;

	counts_value_range(&most, &low, &high);
	assert_true((uint64_t)low == 1ULL << 63 && high == UINT64_MAX);
	counts_value_range(&least, &low, &high);
	assert_true(low == INT64_MIN && high == 1ULL << 63);
	counts_value_range(&hostile, &low, &high);
	assert_true(low == 0 && high == 0);
}

/* By kind: as the reports and exports write it. */
TEST(texts)
{
	static const struct {
		uint32_t type, kind;
		uint64_t number;
		const char *text;
	} of[] = {
	    {TRACE_VALUE_UNSIGNED, TRACE_VALUE_NUMBER, UINT64_MAX, "18446744073709551615"},
	    {TRACE_VALUE_SIGNED, TRACE_VALUE_NUMBER, (uint64_t)-7, "-7"},
	    {TRACE_VALUE_POINTER, TRACE_VALUE_NUMBER, 0x1234, "0x1234"},
	    {TRACE_VALUE_SIGNED, TRACE_VALUE_RANGE, (uint64_t)-2, "-3 to -2"},
	    {TRACE_VALUE_UNSIGNED, TRACE_VALUE_RANGE, 10, "512 to 1023"},
	    {TRACE_VALUE_UNSIGNED, TRACE_VALUE_RANGE, 1, "1"},
	    {TRACE_VALUE_STRING, TRACE_VALUE_NULL, 0, ""},
	    {TRACE_VALUE_STRING, TRACE_VALUE_OTHERS, 0, ""},
	};
	const struct counts_values none = {.nr_skipped = 0};
	BUF_AUTO(b, 256);

	for (size_t i = 0; i < NR(of); i++) {
		const struct counts_value v = {
		    .type = of[i].type, .kind = of[i].kind, .number = of[i].number};

		buf_reset(&b);
		counts_value_put(&none, &v, &b);
		assert_string_equal(buf_str(&b), of[i].text);
		assert_int_equal(counts_value_is_number(&v), of[i].kind <= TRACE_VALUE_RANGE);
	}
}

/* A number belongs to the range that it lies in, and to no other one. */
TEST(what_is_in_a_row)
{
	const struct counts_value range = {.type = TRACE_VALUE_UNSIGNED,
					   .kind = TRACE_VALUE_RANGE,
					   .number = 3},
				  number = {.type = TRACE_VALUE_UNSIGNED, .number = 7},
				  text = {.kind = TRACE_VALUE_TEXT, .text = 1};
	struct counts_value key = number;

	assert_true(counts_value_has(&range, &key) && counts_value_has(&number, &key));
	assert_true(counts_value_has(&range, &range) && !counts_value_has(&number, &range));
	key.number = 8;
	assert_true(!counts_value_has(&range, &key) && !counts_value_has(&number, &key));
	key = text;
	assert_true(counts_value_has(&text, &key) && !counts_value_has(&number, &key));
	key.text = 2;
	assert_false(counts_value_has(&text, &key));
}
