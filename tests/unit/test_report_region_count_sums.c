/*
 * Sums of what regions counted, and their estimates where only some calls were counted.
 */
#include "kit.h"

#include "report/region_count_sums.h"

#include <math.h>

enum { SUM = 7 };

static struct report_region_count_sums s;

HOOK(before_each)
{
	report_region_count_sums_init(&s);
}

HOOK(after_each)
{
	report_region_count_sums_fini(&s);
}

static void add(uint64_t value, uint64_t inner, bool has_inner)
{
	const struct profile_region_count count = {
	    .name = "faults", .value = value, .inner = inner, .has_inner = has_inner};
	const struct profile_region_event e = {.counts = &count, .nr_counts = 1};

	assert_int_equal(report_region_count_sums_add(&s, SUM, &e), 0);
}

TEST(all_calls_are_exact)
{
	const struct report_region_count *c;
	struct interval all;

	add(10, 4, true);
	add(20, 5, true);
	c = report_region_count_sums_find(&s, SUM, 0);
	assert_string_equal(dict_text(&s.names, 0), "faults");
	all = report_region_count_estimate(c, 2);
	assert_true(all.share == 30 && all.low == 30 && all.high == 30);
	all = report_region_count_self(c, 2);
	assert_true(all.share == 21 && all.low == 21 && all.high == 21);
	assert_int_equal(c->least, 10);
	assert_false(s.is_sparse);
	assert_null(report_region_count_sums_find(&s, SUM + 1, 0));
	assert_null(report_region_count_sums_find(&s, SUM, 1));
}

static void add_around(uint64_t value, uint64_t inner, uint64_t nr_below, uint64_t nr_inner)
{
	const struct profile_region_count count = {.name = "faults",
						   .value = value,
						   .inner = inner,
						   .has_inner = true,
						   .nr_below = nr_below,
						   .nr_inner = nr_inner};
	const struct profile_region_event e = {.counts = &count, .nr_counts = 1};

	assert_int_equal(report_region_count_sums_add(&s, SUM, &e), 0);
}

/* Marks count 5 in their region and 12 around it: 100 is 5, 3 times 12 and 59; itself 100 - 40, of
 * which 5 and 2 times 7 are marks. */
TEST(marks_are_subtracted)
{
	const struct report_region_count *c;

	add_around(100, 40, 3, 2);
	add_around(100, 40, 3, 2);
	report_region_count_sums_subtract(&s, 1, 5, 12);
	c = report_region_count_sums_find(&s, SUM, 0);
	assert_int_equal(c->total, 200); /* another event's marks */
	report_region_count_sums_subtract(&s, 0, 5, 12);
	assert_int_equal(c->total, 2 * 59);
	assert_int_equal(c->self, 2 * 41);
	assert_true(c->mean == 59);
	report_region_count_sums_subtract(&s, 0, 1000, 1000);
	assert_int_equal(c->total, 0);
	assert_int_equal(c->self, 0);
}

TEST(marks_of_some_calls_are_not_subtracted)
{
	const struct profile_region_event bare = {.nr_counts = 0};

	add_around(100, 40, 3, 2);
	assert_int_equal(report_region_count_sums_add(&s, SUM, &bare), 0);
	report_region_count_sums_subtract(&s, 0, 5, 12);
	assert_int_equal(report_region_count_sums_find(&s, SUM, 0)->total, 100);
}

/* Mean 20, 30 of 120: 2,400 ± 2.045 × 120 × deviation × sqrt(1/30 × 3/4), and 3/30 of 90 calls of
 * up to 30. */
TEST(some_calls_are_an_estimate)
{
	const struct profile_region_event bare = {.nr_counts = 0}, closed = {.is_closed = true};
	double deviation = sqrt(20 * 100 / 29.0), half;
	struct interval all;

	for (int i = 0; i < 10; i++) {
		add(10, 0, true);
		add(20, 0, false);
		add(30, 0, true);
	}
	assert_int_equal(report_region_count_sums_add(&s, SUM, &closed), 0);
	assert_false(s.is_sparse);
	assert_int_equal(report_region_count_sums_add(&s, SUM, &bare), 0);
	assert_true(s.is_sparse);
	all = report_region_count_estimate(report_region_count_sums_find(&s, SUM, 0), 120);
	half = hypot(2.04523 * 120 * deviation * sqrt(1 / 30.0 * 3 / 4), 3 / 30.0 * 90 * 30);
	assert_true(fabs(all.share - 2400) < 1e-6);
	assert_true(fabs(all.high - (2400 + half)) < 0.1);
	assert_true(fabs(all.low - (2400 - half)) < 0.1);
	assert_int_equal(report_region_count_sums_find(&s, SUM, 0)->self_calls, 20);
}

/* The first call counts more, and was not counted. */
TEST(calls_that_agree_leave_room_for_others)
{
	struct interval all;

	for (int i = 0; i < 40; i++)
		add(16, 0, true);
	all = report_region_count_estimate(report_region_count_sums_find(&s, SUM, 0), 400);
	assert_true(all.share == 6400 && all.low <= 6400 - 19 && all.high >= 6400 + 19);
	assert_true(all.high < 1.1 * 6400);
}

TEST(no_call_that_counts_leaves_room_for_others)
{
	struct interval all;

	for (int i = 0; i < 40; i++)
		add(0, 0, true);
	all = report_region_count_estimate(report_region_count_sums_find(&s, SUM, 0), 400);
	assert_true(all.share == 0 && all.low == 0 && all.high >= 1);
	add(1000, 0, true);
	all = report_region_count_estimate(report_region_count_sums_find(&s, SUM, 0), 410);
	assert_true(fabs(all.share - 10000) < 1e-6 && all.low == 1000); /* what was counted */
}

TEST(few_calls_of_many_are_no_estimate)
{
	struct interval all;

	for (int i = 0; i < 29; i++)
		add(10, 0, true);
	all = report_region_count_estimate(report_region_count_sums_find(&s, SUM, 0), 120);
	assert_true(isnan(all.share) && isnan(all.low) && isnan(all.high));
	all = report_region_count_estimate(report_region_count_sums_find(&s, SUM, 0), 29);
	assert_true(all.share == 290 && all.low == 290 && all.high == 290);
}

TEST(inner_counts_beyond_the_outer_one_are_no_negative_self)
{
	add(10, 20, true);
	assert_int_equal(report_region_count_sums_find(&s, SUM, 0)->self, 0);
}
