/*
 * Amdahl's law from times: what is put in comes out, the interval contains it, and what does not
 * follow it is said to.
 */
#include "kit.h"
#include "synthetic.h"

#include "estimate/scaling.h"

#include <errno.h>
#include <math.h>

enum { NR = 4, ROUNDS = 20 };

static const double workers[NR] = {1, 2, 4, 8}, no_half[NR];
static uint64_t state;

/* Rounds by the law, with relative noise. */
static void make_times(double serial, double noise, double times[ROUNDS * NR])
{
	for (size_t i = 0; i < (size_t)ROUNDS * NR; i++)
		times[i] = 3 * (serial + (1 - serial) / workers[i % NR]) *
			   (1 + noise * synthetic_normal(&state));
}

static struct scaling fit(const double *times)
{
	struct scaling s;

	assert_int_equal(scaling_fit(workers, no_half, NR, times, ROUNDS, true, &s), 0);
	return s;
}

TEST(exact)
{
	static const double shares[] = {0, 0.01, 0.2, 0.5, 1};
	double times[ROUNDS * NR];

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		struct scaling s;

		make_times(shares[i], 0, times);
		s = fit(times);
		assert_true(fabs(s.serial - shares[i]) < 1e-9);
		assert_true(s.low <= s.serial && s.serial <= s.high);
		assert_true(s.fits && fabs(s.farthest) < 1e-9);
	}
}

TEST(interval)
{
	double times[ROUNDS * NR];
	unsigned missed = 0;

	for (int i = 0; i < 400; i++) {
		struct scaling s;

		make_times(0.1, 0.01, times);
		s = fit(times);
		missed += s.low > 0.1 || s.high < 0.1;
		assert_true(s.fits && s.high - s.low < 0.02);
	}
	assert_in_range(missed, 2, 50); /* 20 are expected */
}

TEST(other_laws)
{
	double times[ROUNDS * NR];
	struct scaling s;

	for (size_t i = 0; i < (size_t)ROUNDS * NR; i++) /* four cores */
		times[i] = i % NR == 3 ? 0.4 : 1 / workers[i % NR];
	s = fit(times);
	assert_false(s.fits);
	assert_true(fabs(s.farthest) > 0.05);
	for (size_t i = 0; i < (size_t)ROUNDS * NR; i++) /* more work, not the same by more */
		times[i] = workers[i % NR];
	assert_false(fit(times).fits);
	for (size_t i = 0; i < (size_t)ROUNDS * NR; i++) /* caches grow with the workers */
		times[i] = 1 / workers[i % NR] / workers[i % NR];
	assert_false(fit(times).fits);
}

TEST(half)
{
	static const double halves[NR] = {0.5, 0.5, 0.5, 0.5};
	double times[ROUNDS * NR];
	struct scaling s;

	for (size_t i = 0; i < (size_t)ROUNDS * NR; i++)
		times[i] = i % NR == 3 ? 0.3 : 1 / workers[i % NR];
	assert_false(fit(times).fits);
	assert_int_equal(scaling_fit(workers, halves, NR, times, ROUNDS, true, &s), 0);
	assert_true(s.fits); /* they are not known better than that */
}

TEST(refused)
{
	const double times[NR] = {1, 1, 1, 1};
	struct scaling s;

	assert_int_equal(scaling_fit(workers, no_half, 2, times, 1, true, &s), -EINVAL);
	assert_int_equal(scaling_fit(workers, no_half, NR, times, 0, true, &s), -EINVAL);
	assert_int_equal(
	    scaling_fit((double[]){1e200, 2e200, 3e200}, no_half, 3, times, 1, true, &s), -EDOM);
	assert_int_equal(
	    scaling_fit((double[]){1e15, 1e15 + 1, 1e15 + 2}, no_half, 3, times, 1, true, &s),
	    -EDOM);
}
