/*
 * Comparisons that are looked at after each two pairs and end when enough is known: how often equal
 * sides are said to differ, and that those that differ are found.
 */
#include "kit.h"
#include "synthetic.h"

#include "estimate/chance.h"
#include "estimate/paired.h"

#include <math.h>

enum { COMPARISONS = 500, MAX_PAIRS = 100, NR_KINDS = 4 };

static uint64_t state;

static double exponential(double mean)
{
	return -mean * log(1 - synthetic_uniform(&state));
}

/* The logarithm of how long a run takes: usual noise; skewed; a run in 300 beside something else;
 * without a variance. */
static double run(int kind)
{
	switch (kind) {
	case 0:
		return 0.02 * synthetic_normal(&state);
	case 1:
		return log(1 + exponential(0.02));
	case 2:
		return 0.005 * synthetic_normal(&state) +
		       (synthetic_uniform(&state) < 1.0 / 300 ? exponential(0.5) : 0);
	default:
		return 0.005 * tan(M_PI * (synthetic_uniform(&state) - 0.5));
	}
}

struct outcome {
	bool excludes_0, misses; /* at any look */
	size_t nr;
};

/* Until the interval excludes 0. drift: what each run is slower than the one before. */
static struct outcome compare(int kind, double difference, double drift, bool is_fixed)
{
	double d[MAX_PAIRS];
	struct outcome out = {0};

	for (out.nr = 0; out.nr < MAX_PAIRS && !out.excludes_0;) {
		const bool is_reversed = out.nr % 2;
		struct paired p;

		d[out.nr++] = difference + run(kind) - run(kind) + (is_reversed ? -drift : drift);
		if (out.nr < PAIRED_MIN || out.nr % 2)
			continue;
		assert_int_equal(paired_interval(d, out.nr, 0, is_fixed, &p), 0);
		out.excludes_0 = p.low > 0 || p.high < 0;
		out.misses |= p.low > difference || p.high < difference;
	}
	return out;
}

/* At most 5 % of 500 may be: 25; 37 are rarer than 1 in 100 if it is 5 %. */
TEST(equal_sides_are_rarely_said_to_differ)
{
	for (int kind = 0; kind < NR_KINDS; kind++)
		for (int drifts = 0; drifts < (kind ? 1 : 2); drifts++) {
			int nr = 0;

			state = 11 + (uint64_t)kind;
			for (int i = 0; i < COMPARISONS; i++)
				nr += compare(kind, 0, drifts ? 0.003 : 0, false).excludes_0;
			if (nr > 25)
				fail_msg("noise %d, drift %d: %d of %d", kind, drifts, nr,
					 COMPARISONS);
		}
}

/* What the interval is for: Student's, looked at as often. */
TEST(an_interval_of_a_fixed_number_of_pairs_fails_there)
{
	int nr = 0;

	state = 5;
	for (int i = 0; i < COMPARISONS; i++)
		nr += compare(0, 0, 0, true).excludes_0;
	assert_true(nr > COMPARISONS / 10);
}

TEST(sides_that_differ_are_found_and_the_difference_is_in_the_interval)
{
	static const struct {
		int kind;
		double difference;
		size_t usual; /* pairs, of the median comparison at most */
	} cases[] = {{0, 0.03, 30}, {0, 0.1, 10},  {1, 0.1, 10},
		     {2, 0.01, 20}, {2, 0.03, 16}, {2, -0.1, 10}};

	for (size_t k = 0; k < NR(cases); k++) {
		int nr_found = 0, nr_soon = 0, nr_missed = 0;

		state = 3 + k;
		for (int i = 0; i < COMPARISONS; i++) {
			struct outcome o = compare(cases[k].kind, cases[k].difference, 0, false);

			nr_found += o.excludes_0;
			nr_soon += o.excludes_0 && o.nr <= cases[k].usual;
			nr_missed += o.misses;
		}
		if (nr_found < COMPARISONS * 99 / 100 || nr_soon < COMPARISONS / 2 ||
		    nr_missed > 25)
			fail_msg("case %zu: %d found, %d soon, %d missed", k, nr_found, nr_soon,
				 nr_missed);
	}
}

/* By hand: four differences with the mean 2 and the deviation sqrt(2). */
TEST(student_where_the_number_is_chosen_before)
{
	const double d[] = {1, 2, 1, 4};
	struct paired p;

	assert_int_equal(paired_interval(d, 4, 0, true, &p), 0);
	assert_true(fabs(p.mean - 2) < 1e-12);
	assert_true(fabs(p.high - p.mean - 3.182446305 * sqrt(2) / 2) < 1e-6);
	assert_true(fabs(p.mean - p.low - (p.high - p.mean)) < 1e-12);
}

/* Of one of ten intervals that are to hold together: t of 3 degrees of freedom at 0.0025. */
TEST(intervals_that_hold_together_are_wider)
{
	const double d[] = {1, 1, 3, 3};
	struct paired alone, one_of;

	assert_int_equal(paired_interval_of(d, 4, 0, true, 0.005, &one_of), 0);
	assert_true(fabs(one_of.high - one_of.mean - 7.453318507 * sqrt(4.0 / 3) / 2) < 1e-6);
	assert_int_equal(paired_interval(d, 4, 0, true, &alone), 0);
	assert_true(one_of.low < alone.low && alone.high < one_of.high);
	assert_true(one_of.mean == alone.mean);
}

TEST(of_too_few_pairs_nothing_is_known)
{
	const double d[] = {1, 1.1};
	struct paired p;

	assert_int_equal(paired_interval(d, 0, 0, false, &p), 0);
	assert_true(isinf(p.low) && isinf(p.high));
	assert_int_equal(paired_interval(d, 1, 0, true, &p), 0);
	assert_true(isinf(p.low) && isinf(p.high));
	assert_int_equal(paired_interval(d, 2, 0, false, &p), 0);
	assert_true(isinf(p.low) && isinf(p.high));
}

TEST(a_run_beside_something_else_is_limited)
{
	double d[20];
	struct paired p, with;

	state = 1;
	for (size_t i = 0; i < NR(d); i++)
		d[i] = 0.1 + 0.01 * synthetic_normal(&state);
	assert_int_equal(paired_interval(d, NR(d), 0, false, &p), 0);
	assert_int_equal(p.nr_limited, 0);
	d[7] = 50;
	assert_int_equal(paired_interval(d, NR(d), 0, false, &with), 0);
	assert_int_equal(with.nr_limited, 1);
	assert_true(fabs(with.mean - p.mean) < 0.01);
	assert_true(with.low > 0);
}

/* Two modes are no accident: all of them count. */
TEST(what_happens_often_is_not_limited)
{
	double d[40], sum = 0;
	struct paired p;

	state = 1;
	for (size_t i = 0; i < NR(d); i++)
		sum += d[i] = 0.01 * synthetic_normal(&state) + (i % 10 == 3);
	assert_int_equal(paired_interval(d, NR(d), 0, false, &p), 0);
	assert_int_equal(p.nr_limited, 0);
	assert_true(fabs(p.mean - sum / (double)p.nr) < 1e-12 && p.low < 0);
}

TEST(steps_have_a_width)
{
	const double d[] = {0, 0, 0, 0, 0, 0};
	struct paired p;

	assert_int_equal(paired_interval(d, NR(d), 0.01, true, &p), 0);
	assert_true(fabs(p.high - 2.570582 * 0.01 / sqrt(6)) < 1e-8 && p.low == -p.high);
}

TEST(equal_differences_have_no_width)
{
	const double d[] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 7};
	struct paired p;

	assert_int_equal(paired_interval(d, 11, 0, false, &p), 0);
	assert_true(fabs(p.low - 0.5) < 1e-12 && fabs(p.high - 0.5) < 1e-12);
	/* half of them have no distance: none is usual */
	assert_int_equal(paired_interval(d, 12, 0, false, &p), 0);
	assert_int_equal(p.nr_limited, 0);
}
