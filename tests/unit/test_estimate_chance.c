/*
 * Welch's test and Holm's correction: values computed to 40 digits elsewhere, a published example,
 * and how often they claim what is not so.
 */
#include "kit.h"
#include "synthetic.h"

#include "estimate/chance.h"

static void assert_near(double x, double y)
{
	if (!(fabs(x - y) <= 1e-10))
		fail_msg("%.17g is not %.17g", x, y);
}

/* Of values that are near 0 too. */
static void assert_alike(double x, double y)
{
	if (!(fabs(x - y) <= 1e-10 * fabs(y)))
		fail_msg("%.17g is not %.17g", x, y);
}

TEST(betas)
{
	static const struct {
		double a, b, x, value;
	} rows[] = {
	    {0.5, 0.5, 0.5, 0.5},
	    {2, 3, 0.4, 0.5248},
	    {10, 0.5, 0.9, 0.15164090963470997},
	    {1, 1, 0.3, 0.3},
	    {50, 60, 0.45, 0.46423529143060363},
	    {5e5, 0.5, 0.999999, 0.31731050785589558},
	    {0.1, 200, 0.001, 0.87929131900082166},
	    {1e4, 1e4, 0.5005, 0.55623077375794866},
	    {1e4, 3, 0.9998, 0.67656813803176596},
	    {200, 5000, 0.04, 0.72299681450073013},
	    {30.5, 0.5, 0.2, 5.4407401435343624e-23},
	    {3, 4, 0, 0},
	    {3, 4, 1, 1},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		assert_near(chance_beta(rows[i].a, rows[i].b, rows[i].x), rows[i].value);
		if (rows[i].x > 1e-3 && rows[i].x < 0.9) /* 1 - x is exact enough */
			assert_near(chance_beta(rows[i].b, rows[i].a, 1 - rows[i].x),
				    1 - rows[i].value);
	}
}

TEST(students)
{
	static const struct {
		double t, df, p;
	} rows[] = {
	    {1, 1, 0.5},
	    {2.776445105, 4, 0.050000000010119479},
	    {12.706204736, 1, 0.050000000000684654},
	    {2, 8, 0.080516237957262671},
	    {5, 8, 0.0010528257933665393},
	    {0.001, 3.7, 0.99925367705908632},
	    {6.4, 8.25, 0.00018317479030615708},
	    {40, 2.5, 0.00014195634290493383},
	    {3, 199, 0.0030448267251061726},
	    {1.96, 1000000.0, 0.049996067585269791},
	    {8, 100000.0, 1.2573919876256374e-15},
	    {100, 60, 1.9006844482633238e-68},
	    {0.5, 0.5, 0.75731807292943663},
	    {1e-09, 5, 0.99999999924078662},
	    {1e-8, 7, 0.99999999230017098},
	    {7, 100, 2.9835666036092028e-10},
	    {7, 101.5, 2.8260469982445713e-10},
	    {100000000.0, 1, 6.3661977236758132e-9},
	    {0, 3, 1},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		assert_alike(chance_student(rows[i].t, rows[i].df), rows[i].p);
		assert_alike(chance_student(-rows[i].t, rows[i].df), rows[i].p);
		if (rows[i].p > 1e-15 && rows[i].p < 0.999)
			assert_alike(chance_student_inverse(rows[i].p, rows[i].df), rows[i].t);
	}
	assert_true(chance_student(INFINITY, 3) == 0);
	assert_true(chance_student(1e200, 3) == 0);
	assert_true(isfinite(chance_student_inverse(0, 0.5)));
}

static struct spread spread_of(const double *x, size_t nr)
{
	struct spread s = {0};

	for (size_t i = 0; i < nr; i++)
		spread_add(&s, x[i]);
	return s;
}

/* Student's own data (1908), two drugs for sleep, as R's t.test has it: t = -1.8608, df = 17.776,
 * p-value = 0.07939, -3.3654832 0.2054832 */
TEST(welch)
{
	static const double a[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0},
			    b[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
	static const double none[2] = {0, 0};
	struct spread x = spread_of(a, NR(a)), y = spread_of(b, NR(b));
	struct chance_test t;

	assert_true(chance_welch(&x, &y, none, &t));
	assert_true(fabs(t.t - 1.8608) < 5e-5);
	assert_true(fabs(t.df - 17.776) < 5e-4);
	assert_true(fabs(t.p - 0.07939) < 5e-6);
	assert_true(fabs(y.mean - x.mean + t.half - 3.3654832) < 5e-8);
	assert_true(chance_welch(&y, &x, none, &t));
	assert_true(fabs(t.t + 1.8608) < 5e-5);
	assert_true(fabs(t.p - 0.07939) < 5e-6);
}

TEST(degenerate)
{
	static const double fives[] = {5, 5, 5}, sixes[] = {6, 6, 6}, none[2] = {0, 0},
			    one[2] = {1, 1};
	struct spread a = spread_of(fives, 3), b = spread_of(sixes, 3),
		      single = spread_of(fives, 1);
	struct spread empty = {0};
	struct chance_test t = {.p = 7};

	assert_false(chance_welch(&a, &single, none, &t));
	assert_false(chance_welch(&single, &b, one, &t));
	assert_false(chance_welch(&empty, &empty, one, &t));
	assert_true(t.p == 7);
	assert_true(chance_welch(&a, &a, none, &t));
	assert_true(t.p == 1 && t.t == 0 && t.half == 0 && t.df == 4);
	assert_true(chance_welch(&a, &b, none, &t));
	assert_true(t.p == 0 && t.t > 0 && t.df == 4);
	assert_true(chance_welch(&a, &b, one, &t)); /* known to vary: 1 / sqrt(2/3) of 4 */
	assert_near(t.t, sqrt(1.5));
	assert_near(t.df, 4);
	assert_near(t.p, chance_student(sqrt(1.5), 4));
}

TEST(holm)
{
	static const double p[] = {0.01, 0.04, 0.03, 0.005, 1, 0},
			    adjusted[] = {0.04, 0.09, 0.09, 0.025, 1, 0};
	static const double weighted[] = {0.02, 0.04, 0.02}, weights[] = {2, 1, 4};
	static const double ties[] = {0.02, 0.02, 0.02};
	double out[6], level[6];

	assert_int_equal(chance_holm(p, NULL, 6, out, NULL), 0);
	for (size_t i = 0; i < 6; i++)
		assert_near(out[i], adjusted[i]);
	assert_int_equal(chance_holm(ties, NULL, 3, out, NULL), 0);
	for (size_t i = 0; i < 3; i++)
		assert_near(out[i], 0.06);
	assert_int_equal(chance_holm(NULL, NULL, 0, out, NULL), 0);
	/* by p / weight: the third (0.005), the first (0.01, which becomes less than that), the
	 * second (0.04) */
	assert_int_equal(chance_holm(weighted, weights, 3, out, NULL), 0);
	assert_near(out[0], 0.005 * 7);
	assert_near(out[1], 0.04);
	assert_near(out[2], 0.005 * 7);
	/* below which p has an adjusted value below 0.05 */
	assert_int_equal(chance_holm(p, NULL, 6, out, level), 0);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(p[i] < level[i], out[i] < CHANCE_SIGNIFICANCE);
	assert_near(level[5], 0.05 / 6);
	assert_near(level[3], 0.05 / 5);
	assert_near(level[1], 0.05 * 0.04 / 0.09);
	assert_near(level[4], 0.05);
	inject_mem(1);
	assert_int_equal(chance_holm(p, NULL, 6, out, NULL), -ENOMEM);
	inject_stop();
}

/* A million: in order, never less than what it was, and done. */
TEST(many)
{
	enum { NR = 1000000 };
	double *p = malloc(NR * sizeof(*p)), *adjusted = malloc(NR * sizeof(*p));
	uint64_t seed = 3;

	assert_true(p && adjusted);
	for (size_t i = 0; i < NR; i++)
		p[i] = synthetic_uniform(&seed);
	p[77] = 1e-9;
	assert_int_equal(chance_holm(p, NULL, NR, adjusted, NULL), 0);
	for (size_t i = 0; i < NR; i++)
		assert_true(adjusted[i] >= p[i] && adjusted[i] <= 1);
	assert_near(adjusted[77], 1e-3);
	free(p);
	free(adjusted);
}

/* Where there is no difference p is below 0.05 in 5 of 100 cases, however the variances differ. */
TEST(claims)
{
	static const double none[2] = {0, 0};
	enum { NR = 20000 };
	unsigned nr_false = 0, nr_inside = 0;
	uint64_t seed = 5;

	for (int i = 0; i < NR; i++) {
		struct spread s[2] = {{0}};
		struct chance_test t;

		for (int side = 0; side < 2; side++)
			for (int k = 0; k < 5 + 5 * side; k++)
				spread_add(&s[side],
					   7 * side + (1 + 3 * side) * synthetic_normal(&seed));
		assert_true(chance_welch(&s[0], &s[1], none, &t));
		nr_inside += fabs(s[1].mean - s[0].mean - 7) < t.half;
		s[1].mean -= 7;
		assert_true(chance_welch(&s[0], &s[1], none, &t));
		nr_false += t.p < 0.05;
	}
	print_message("Welch claims %.2f %% of %d, the interval holds in %.2f %%\n",
		      100.0 * nr_false / NR, NR, 100.0 * nr_inside / NR);
	assert_in_range(nr_false, NR * 45 / 1000, NR * 55 / 1000);
	assert_in_range(nr_inside, NR * 945 / 1000, NR * 955 / 1000);
}
