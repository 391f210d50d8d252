/*
 * Which of many differs: how often that is claimed of what is alike, and that what differs is
 * found.
 */
#include "kit.h"
#include "synthetic.h"

#include "estimate/chance.h"
#include "estimate/outliers.h"

enum { MAX_HOSTS = 1000, QUANTITIES = 20, JOBS = 200 };

static struct outliers_item items[MAX_HOSTS];
static struct outlier found[MAX_HOSTS];
static uint64_t state;

static void fill(size_t nr, double mean, double deviation, double error)
{
	for (size_t i = 0; i < nr; i++)
		items[i] = (struct outliers_item){mean + deviation * synthetic_normal(&state) +
						      error * synthetic_normal(&state),
						  error * error};
}

/* The least p of a job with so many hosts and quantities, after Holm's correction. */
static double least_of_job(size_t nr, double error)
{
	static double p[MAX_HOSTS * QUANTITIES], adjusted[MAX_HOSTS * QUANTITIES];
	double least = 1;

	for (size_t q = 0; q < QUANTITIES; q++) {
		fill(nr, 100, q % 2 ? 1 : 0, error);
		assert_int_equal(outliers_find(items, nr, found), 0);
		for (size_t i = 0; i < nr; i++)
			p[q * nr + i] = found[i].p;
	}
	assert_int_equal(chance_holm(p, NULL, nr * QUANTITIES, adjusted, NULL), 0);
	for (size_t i = 0; i < nr * QUANTITIES; i++)
		least = fmin(least, adjusted[i]);
	return least;
}

/* 5 % of 200 jobs are 10; 22 or more are rarer than 1 in 1000. */
TEST(alike_hosts_are_not_claimed_to_differ)
{
	static const size_t hosts[] = {4, 5, 8, 16, 100};

	for (size_t k = 0; k < NR(hosts); k++) {
		int claims = 0;

		state = 17 + k;
		for (int job = 0; job < JOBS; job++)
			claims += least_of_job(hosts[k], 0.5) < 0.05;
		if (claims > 21)
			fail_msg("%zu hosts: %d of %d", hosts[k], claims, JOBS);
	}
}

TEST(a_slow_host_is_found)
{
	int claims = 0, others = 0;

	state = 3;
	for (int job = 0; job < JOBS; job++) {
		double p[32], adjusted[32];

		fill(32, 100, 1, 0);
		items[7].value = 90;
		assert_int_equal(outliers_find(items, 32, found), 0);
		for (size_t i = 0; i < 32; i++)
			p[i] = found[i].p;
		assert_int_equal(chance_holm(p, NULL, 32, adjusted, NULL), 0);
		claims += adjusted[7] < 0.05 && found[7].z < 0;
		for (size_t i = 0; i < 32; i++)
			others += i != 7 && adjusted[i] < 0.05;
	}
	if (claims < JOBS * 95 / 100 || others > 21)
		fail_msg("found %d times, others %d", claims, others);
}

/* Two that differ do not hide each other. */
TEST(two_are_found)
{
	state = 5;
	fill(16, 100, 1, 0);
	items[2].value = items[9].value = 150;
	assert_int_equal(outliers_find(items, 16, found), 0);
	assert_true(found[2].p < 1e-4 && found[9].p < 1e-4);
	assert_true(found[2].z > 10 && found[9].z > 10);
}

TEST(errors_of_their_own_count)
{
	double exact, sampled;

	for (size_t i = 0; i < 8; i++)
		items[i] = (struct outliers_item){100 + (double)(i % 3), 0};
	items[5].value = 140;
	assert_int_equal(outliers_find(items, 8, found), 0);
	exact = found[5].p;
	items[5].variance = 400; /* few samples */
	assert_int_equal(outliers_find(items, 8, found), 0);
	sampled = found[5].p;
	assert_true(exact < 0.005 && sampled > 0.05);
	for (size_t i = 0; i < 8; i++) /* all of them: the spread is by chance too small */
		items[i].variance = 400;
	assert_int_equal(outliers_find(items, 8, found), 0);
	assert_true(found[5].p > 0.05 && fabs(found[5].z) < 2.1);
}

TEST(numbers_by_hand)
{
	static const double values[] = {10, 12, 11, 13, 30};
	const double spread = 1.4826022185056018 * 1.363 * 1; /* of 10, 11, 12, 13 */
	const double z = 18.5 / sqrt(spread * spread * (1 + M_PI / 2 / 4));

	for (size_t i = 0; i < NR(values); i++)
		items[i] = (struct outliers_item){values[i], 0};
	assert_int_equal(outliers_find(items, 5, found), 0);
	assert_true(fabs(found[4].usual - 11.5) < 1e-12);
	assert_true(fabs(found[4].z - z) < 1e-9);
	assert_true(fabs(found[4].p - chance_student(z, 0.385 * 4)) < 1e-12);
	assert_true(fabs(found[0].usual - 12.5) < 1e-12); /* 11, 12, 13, 30 */
}

TEST(what_cannot_be_told)
{
	static const double values[] = {1, 1, 50};

	for (size_t nr = 0; nr <= 3; nr++) {
		for (size_t i = 0; i < nr; i++)
			items[i] = (struct outliers_item){values[i], 0};
		assert_int_equal(outliers_find(items, nr, found), 0);
		for (size_t i = 0; i < nr; i++)
			assert_true(found[i].p == 1 && found[i].z == 0);
	}
}

/* Exact and equal but one. */
TEST(without_spread)
{
	for (size_t i = 0; i < 6; i++)
		items[i] = (struct outliers_item){7, 0};
	assert_int_equal(outliers_find(items, 6, found), 0);
	for (size_t i = 0; i < 6; i++)
		assert_true(found[i].p == 1 && found[i].z == 0 && found[i].usual == 7);
	items[3].value = 6;
	assert_int_equal(outliers_find(items, 6, found), 0);
	assert_true(found[3].p == 0 && isinf(found[3].z) && found[3].z < 0);
}

/* Each median by the definition, in a simple way. */
static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *x, size_t nr)
{
	qsort(x, nr, sizeof(*x), compare);
	return (x[(nr - 1) / 2] + x[nr / 2]) / 2;
}

TEST(same_as_the_definition)
{
	double others[64];

	state = 11;
	for (size_t nr = 4; nr < 64; nr++) {
		fill(nr, 10, 3, 0);
		for (size_t i = 0; i < nr / 4; i++) /* some are equal */
			items[i].value = round(items[i].value);
		assert_int_equal(outliers_find(items, nr, found), 0);
		for (size_t i = 0; i < nr; i++) {
			double usual, distance, factor;
			size_t k = 0;

			for (size_t n = 0; n < nr; n++)
				if (n != i)
					others[k++] = items[n].value;
			usual = median(others, k);
			for (size_t n = 0; n < k; n++)
				others[n] = fabs(others[n] - usual);
			distance = median(others, k);
			assert_true(fabs(found[i].usual - usual) < 1e-12);
			if (k < 10 || items[i].value == usual)
				continue;
			factor = 1.4826022185056018 * (double)k / ((double)k - 0.8) *
				 sqrt(1 + M_PI / 2 / (double)k);
			assert_true(
			    fabs(found[i].z * distance * factor - (items[i].value - usual)) < 1e-9);
		}
	}
}

TEST(imbalances)
{
	static const double values[] = {10, 20, 30, 20}, none[] = {0, 0};
	struct imbalance b;

	outliers_imbalance(values, NR(values), &b);
	assert_true(b.mean == 20 && b.max == 30 && b.slowest == 2);
	assert_true(fabs(b.over - 0.5) < 1e-12 && fabs(b.idle - 1.0 / 3) < 1e-12);
	outliers_imbalance(none, NR(none), &b);
	assert_true(b.over == 0 && b.idle == 0 && b.slowest == 0);
}
