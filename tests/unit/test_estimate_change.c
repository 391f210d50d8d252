/*
 * Changes of level: false ones as rare as p says, true ones where they are, and series that have
 * none.
 */
#include "kit.h"

#include "estimate/change.h"
#include "inject.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { NR = 20, SERIES = 200 };

static double uniform(void)
{
	return ((double)rand() + 0.5) / ((double)RAND_MAX + 1);
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* Series without a change: of each distribution at most as many false alarms as 200 tests at 5 %
 * have but once in 1,000 times. */
static double of_kind(int kind)
{
	switch (kind) {
	case 0:
		return normal();
	case 1:
		return exp(2 * normal()); /* outliers */
	case 2:
		return floor(uniform() * 4); /* ties */
	default:
		return uniform() < 0.1 ? 100 : normal();
	}
}

TEST(false_alarms)
{
	double v[NR];
	struct change c;

	srand(7);
	for (int kind = 0; kind < 4; kind++) {
		int nr_alarms = 0, nr_half = 0;

		for (int i = 0; i < SERIES; i++) {
			for (int k = 0; k < NR; k++)
				v[k] = of_kind(kind);
			assert_int_equal(change_find(v, NR, &c), 1);
			assert_in_range(c.at, CHANGE_SIDE, NR - CHANGE_SIDE);
			assert_true(c.p > 0 && c.p <= 1);
			nr_alarms += c.p < 0.05;
			nr_half += c.p < 0.5;
		}
		assert_in_range(nr_alarms, 1, 20);
		assert_in_range(nr_half, 78, 122); /* p is a probability, not only a bound */
	}
}

/* A step of three deviations, anywhere but at the ends, is found, and its place to within a number.
 */
TEST(steps)
{
	double v[NR];
	struct change c;
	int nr = 0, nr_found = 0, nr_near = 0;

	srand(8);
	for (int at = 4; at <= NR - 4; at++)
		for (int i = 0; i < SERIES / 10; i++, nr++) {
			for (int k = 0; k < NR; k++)
				v[k] = 50 + normal() + (k >= at ? (i % 2 ? 3 : -3) : 0);
			assert_int_equal(change_find(v, NR, &c), 1);
			nr_found += c.p < 0.05;
			nr_near += c.at + 1 >= (size_t)at && c.at <= (size_t)at + 1;
			assert_true(c.p >= 0.05 || (c.after > c.before) == (i % 2));
		}
	assert_true(nr_found * 100 >= nr * 98);
	assert_true(nr_near * 100 >= nr * 94);
}

TEST(a_plain_step)
{
	static const double v[] = {1, 2, 1, 2, 1, 9, 8, 9, 8};
	struct change c;

	assert_int_equal(change_find(v, 9, &c), 1);
	assert_int_equal(c.at, 5);
	assert_float_equal(c.before, 1, 0);
	assert_float_equal(c.after, 8.5, 0);
	/* of 126 choices of five numbers, the two that are whole sides; or as much elsewhere */
	assert_true(c.p > 0.012 && c.p < 0.05);
}

TEST(the_same_each_time)
{
	static const double v[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
	struct change a, b;

	assert_int_equal(change_find(v, 11, &a), 1);
	assert_int_equal(change_find(v, 11, &b), 1);
	assert_memory_equal(&a, &b, sizeof(a));
}

TEST(nothing_to_find)
{
	static const double v[CHANGE_MAX + 1];
	struct change c;

	assert_int_equal(change_find(v, 0, &c), 0);
	assert_int_equal(change_find((const double[]){1, 2, 3, 4, 5, 6, 7}, 7, &c), 0);
	assert_int_equal(change_find(v, 100, &c), 0);
	assert_int_equal(change_find(v, CHANGE_MAX + 1, &c), -EFBIG);
}

static int find(void *arg)
{
	struct change c;
	int rc = change_find(arg, 8, &c);

	return rc < 0 ? rc : 0;
}

TEST(no_memory)
{
	static double v[] = {1, 2, 3, 4, 5, 6, 7, 8};

	inject_every(find, v, 1, 0);
}
