/*
 * Functions that were measured call by call, added up: sums, buckets in order, the longest call,
 * and which of two are one.
 */
#include "kit.h"

#include "counts/functions.h"
#include "estimate/histogram.h"
#include "trace/trace.h"

#include <math.h>

static struct trace_function function(const char *name, const struct trace_bucket *bucket,
				      size_t nr)
{
	return (struct trace_function){.event = 1,
				       .flags = TRACE_FUNCTION_HAS_TIMES,
				       .way = TRACE_FUNCTION_KERNEL,
				       .bits = TRACE_HISTOGRAM_BITS,
				       .address = 0x1000,
				       .calls = 10,
				       .wall_ns = 1000,
				       .self_ns = 600,
				       .cpu_ns = 500,
				       .max_ns = 40,
				       .cost_ns = 20,
				       .name = name,
				       .object = "/bin/prog",
				       .bucket = bucket,
				       .nr = nr};
}

TEST(sums)
{
	static const struct trace_bucket first[] = {{3, 1}, {20, 4}, {30, 1}},
					 second[] = {{1, 7}, {20, 2}, {24, 5}};
	static const uint64_t expected[][2] = {{1, 7}, {3, 1}, {20, 6}, {24, 5}, {30, 1}};
	struct trace_function a = function("f", first, NR(first)),
			      b = function("f", second, NR(second));
	struct counts_functions l = {0};
	const struct counts_function *row;
	struct histogram h;

	b.flags |= TRACE_FUNCTION_HAS_CPU;
	assert_int_equal(counts_functions_add(&l, &a), 0);
	row = counts_functions_at(&l, 0);
	assert_true(row->has_times && !row->has_cpu);
	assert_int_equal(counts_functions_add(&l, &b), 0);
	assert_int_equal(l.rows.nr, 1);
	row = counts_functions_at(&l, 0);
	assert_string_equal(counts_function_name(&l, row), "f");
	assert_string_equal(counts_function_object(&l, row), "/bin/prog");
	assert_int_equal(row->calls, 20);
	assert_int_equal(row->timed, 20);
	assert_int_equal(row->wall_ns, 2000);
	assert_int_equal(row->self_ns, 1200);
	assert_int_equal(row->cpu_ns, 1000);
	assert_int_equal(row->cost_ns, 40);
	assert_true(row->has_times && !row->has_cpu && !row->is_part && !row->is_timed_in_part);
	/* and of one frame is of all */
	b.flags |= TRACE_FUNCTION_IS_PART | TRACE_FUNCTION_IS_TIMED_IN_PART;
	b.calls = b.wall_ns = b.nr = 0;
	assert_int_equal(counts_functions_add(&l, &b), 0);
	assert_true(row->is_part && row->is_timed_in_part);
	assert_int_equal(row->nr, NR(expected));
	for (size_t i = 0; i < NR(expected); i++) {
		assert_int_equal(row->bucket[i].number, expected[i][0]);
		assert_int_equal(row->bucket[i].count, expected[i][1]);
	}
	counts_function_histogram(row, &h);
	assert_int_equal(h.count, 20);
	assert_int_equal(h.sum_ns, 2000);
	assert_true(fabs(histogram_mean(&h) - 100) < 1e-9);
	assert_int_equal(h.bucket[20], 6);
	counts_functions_fini(&l);
}

/* The longest call since the start of the session is of this iteration only if it is in its last
 * bucket. Bucket 30 is of 28 and 29 ns, 40 of 48 and 49. */
TEST(longest)
{
	static const struct trace_bucket low[] = {{21, 1}}, high[] = {{30, 1}};
	struct trace_function a = function("f", low, 1), b = function("f", high, 1);
	struct counts_functions l = {0};
	size_t end = histogram_low(22) - 1;

	a.max_ns = 1000; /* of an earlier iteration */
	b.max_ns = histogram_low(30);
	assert_int_equal(counts_functions_add(&l, &a), 0);
	assert_int_equal(counts_functions_at(&l, 0)->max_ns, end);
	assert_int_equal(counts_functions_add(&l, &b), 0);
	assert_int_equal(counts_functions_at(&l, 0)->max_ns, histogram_low(30));
	assert_int_equal(counts_functions_add(&l, &a), 0);
	assert_int_equal(counts_functions_at(&l, 0)->max_ns, histogram_low(30));
	counts_functions_fini(&l);
}

/* Functions differ in event, way, name, file or address. One whose calls have not ended has times;
 * one that has none in a part has none. */
TEST(rows)
{
	const struct trace_function f = function("f", NULL, 0);
	struct trace_function other[] = {f, f, f, f, f, f};
	struct counts_functions l = {0};

	other[0].event++;
	other[1].way++;
	other[2].name = "g";
	other[3].object = "/bin/other";
	other[4].address++;
	assert_int_equal(counts_functions_add(&l, &f), 0);
	for (size_t i = 0; i < NR(other); i++) {
		assert_int_equal(counts_functions_add(&l, &other[i]), 0);
		assert_int_equal(l.rows.nr, i + 2 < NR(other) ? i + 2 : NR(other));
	}
	assert_true(counts_functions_at(&l, 0)->has_times);
	assert_int_equal(counts_functions_at(&l, 0)->calls, 20);
	assert_int_equal(counts_functions_at(&l, 0)->timed, 0);
	other[5].flags = 0;
	assert_int_equal(counts_functions_add(&l, &other[5]), 0);
	assert_false(counts_functions_at(&l, 0)->has_times);
	counts_functions_fini(&l);
	assert_int_equal(l.rows.nr, 0);
}
