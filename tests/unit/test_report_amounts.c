/*
 * Amounts of whole replicates: their changes, which are significant, and how often something is
 * claimed between replicates without a difference.
 */
#include "kit.h"
#include "synthetic.h"

#include "estimate/chance.h"
#include "report/amounts.h"
#include "report/diff.h"

static void assert_near(double x, double y)
{
	if (!(fabs(x - y) < 1e-9))
		fail_msg("%.12g is not %.12g", x, y);
}

/* Welch by hand: means 735 and 780, variances 25 and 100 of four replicates. */
TEST(numbers)
{
	static const double was[] = {730, 740, 730, 740}, is[] = {770, 790, 770, 790};
	struct amount a = {.value = {was, is}, .nr = {4, 4}};
	double va = 100.0 / 3 / 4, vb = 400.0 / 3 / 4, t = 45 / sqrt(va + vb);
	double df = (va + vb) * (va + vb) / (va * va / 3 + vb * vb / 3);

	assert_int_equal(amounts_judge(&a, 1, false), 0);
	assert_near(a.mean[0], 735);
	assert_near(a.mean[1], 780);
	assert_near(a.relative, 45.0 / 735);
	assert_near(a.p, chance_student(t, df));
	assert_near(a.half, sqrt(va + vb) * chance_student_inverse(0.05, df) / 735);
	assert_true(a.is_tested && a.is_significant);
	assert_near(a.adjusted, a.p);
	assert_true(amount_is_over(&a, 0.06));
	assert_false(amount_is_over(&a, 0.07));
	a.value[0] = is, a.value[1] = was;
	assert_int_equal(amounts_judge(&a, 1, false), 0);
	assert_true(a.is_significant && a.relative < 0 && !amount_is_over(&a, 0));
}

/* The primary amount is tested alone; the others are corrected by their number. */
TEST(correction)
{
	static const double was[] = {100, 101, 102, 103}, is[] = {102, 103, 104, 105};
	struct amount list[4];

	for (size_t i = 0; i < NR(list); i++)
		list[i] = (struct amount){.value = {was, is}, .nr = {4, 4}, .is_primary = i == 0};
	list[3].nr[1] = 1; /* not tested: not counted */
	assert_int_equal(amounts_judge(list, NR(list), false), 0);
	assert_near(list[0].adjusted, list[0].p);
	assert_near(list[1].adjusted, 2 * list[1].p);
	assert_near(list[2].adjusted, 2 * list[2].p);
	assert_false(list[3].is_tested);
	assert_near(list[3].adjusted, 1);
	assert_near(list[3].half, 0);
}

TEST(degenerate)
{
	static const double zero[4], one[] = {1, 1, 1, 1};
	static const struct {
		const double *was, *is;
		size_t nr[2];
		double relative, p;
		bool is_tested;
	} rows[] = {
	    {one, one, {1, 1}, 0, 1, false},  {zero, one, {1, 4}, INFINITY, 1, false},
	    {zero, zero, {4, 4}, 0, 1, true}, {zero, one, {4, 4}, INFINITY, 0, true},
	    {one, zero, {2, 2}, -1, 0, true}, {one, one, {4, 4}, 0, 1, true},
	};

	for (size_t i = 0; i < 2 * NR(rows); i++) {
		struct amount a = {.value = {rows[i / 2].was, rows[i / 2].is},
				   .nr = {rows[i / 2].nr[0], rows[i / 2].nr[1]}};

		assert_int_equal(amounts_judge(&a, 1, i % 2), 0);
		assert_true(a.relative == rows[i / 2].relative && a.p == rows[i / 2].p);
		assert_true(a.adjusted == a.p && a.half == 0);
		assert_int_equal(a.is_tested, rows[i / 2].is_tested);
		assert_int_equal(amount_is_over(&a, 5), rows[i / 2].relative > 5 && a.is_tested);
	}
}

/* What is claimed: the interval excludes 0. */
static bool excludes_0(double change, double half)
{
	return fabs(change) > half;
}

enum { NR_AMOUNTS = 6, MAX_RUNS = 20 };

/* Runs whose times deviate in common and each on its own, from 0.1 to 30 %; those of one session
 * with a drift. */
static void run_all(uint64_t *seed, size_t nr, double drift, double noise,
		    double out[NR_AMOUNTS][MAX_RUNS])
{
	double place = synthetic_normal(seed);

	for (size_t i = 0; i < nr; i++) {
		place = drift * place + sqrt(1 - drift * drift) * synthetic_normal(seed);
		for (size_t k = 0; k < NR_AMOUNTS; k++)
			out[k][i] = exp(noise * (0.7 * place + 0.7 * synthetic_normal(seed)));
	}
}

/* The wall time is claimed in about 5 % of pairs of equal programs, and any other amount too. */
TEST(claims)
{
	enum { NR_PAIRS = 2000 };
	static const struct {
		size_t nr;
		double drift;
		bool are_neighbours;
	} kinds[] = {{2, 0, false}, {3, 0, false}, {5, 0, false},   {10, 0, false},
		     {3, 0, true},  {10, 0, true}, {10, 0.6, true}, {20, 0.6, true}};

	for (size_t k = 0; k < NR(kinds); k++) {
		unsigned nr_primary = 0, nr_others = 0, nr_outside = 0;
		uint64_t seed = 31;

		for (int i = 0; i < NR_PAIRS; i++) {
			double of[2][NR_AMOUNTS][MAX_RUNS],
			    noise = synthetic_log_uniform(&seed, 0.001, 0.3);
			struct amount list[NR_AMOUNTS];
			bool is_other = false;

			for (unsigned side = 0; side < 2; side++)
				run_all(&seed, kinds[k].nr, kinds[k].drift, noise, of[side]);
			for (size_t n = 0; n < NR_AMOUNTS; n++)
				list[n] = (struct amount){.value = {of[0][n], of[1][n]},
							  .nr = {kinds[k].nr, kinds[k].nr},
							  .is_primary = n == 0};
			assert_int_equal(amounts_judge(list, NR_AMOUNTS, kinds[k].are_neighbours),
					 0);
			nr_primary += list[0].is_significant;
			for (size_t n = 0; n < NR_AMOUNTS; n++)
				assert_int_equal(excludes_0(list[n].relative, list[n].half),
						 list[n].is_significant);
			nr_outside += excludes_0(list[0].relative, list[0].half);
			for (size_t n = 1; n < NR_AMOUNTS; n++)
				is_other |= list[n].is_significant;
			nr_others += is_other;
		}
		print_message("%zu replicates, drift %.1f%s: the first is claimed in %.2f %%, any "
			      "other in %.2f %%; outside of the interval %.2f %%\n",
			      kinds[k].nr, kinds[k].drift,
			      kinds[k].are_neighbours ? ", neighbours" : "",
			      100.0 * nr_primary / NR_PAIRS, 100.0 * nr_others / NR_PAIRS,
			      100.0 * nr_outside / NR_PAIRS);
		assert_true(nr_primary <= NR_PAIRS * 7 / 100);
		assert_true(nr_others <= NR_PAIRS * 7 / 100);
		assert_true(nr_outside <= NR_PAIRS * 7 / 100);
		if (kinds[k].nr > 2 && !kinds[k].are_neighbours)
			assert_true(nr_primary >= NR_PAIRS * 3 / 100);
	}
}

/* An interval and its verdict agree, however many amounts are corrected together, changed or not,
 * and with blocks whose last one is incomplete. */
TEST(one_correction)
{
	enum { MAX_AMOUNTS = 60, NR_LISTS = 400 };
	unsigned nr_claims = 0, nr_near = 0, nr_all = 0;
	uint64_t seed = 41;

	for (int i = 0; i < NR_LISTS; i++) {
		size_t nr = 1 + synthetic_next(&seed) % MAX_AMOUNTS;
		struct amount list[MAX_AMOUNTS];
		double values[MAX_AMOUNTS][2][MAX_RUNS];
		size_t nr_of[2];

		for (unsigned side = 0; side < 2; side++)
			nr_of[side] = 2 + synthetic_next(&seed) % (MAX_RUNS - 1);
		for (size_t k = 0; k < nr; k++) {
			double change = k % 3 ? 0 : 0.2 * synthetic_uniform(&seed);

			for (unsigned side = 0; side < 2; side++)
				for (size_t n = 0; n < nr_of[side]; n++)
					values[k][side][n] = (1 + side * change) *
							     exp(0.1 * synthetic_normal(&seed));
			list[k] = (struct amount){.value = {values[k][0], values[k][1]},
						  .nr = {nr_of[0], nr_of[1]},
						  .is_primary = k == 1};
		}
		assert_int_equal(amounts_judge(list, nr, i % 2), 0);
		for (size_t k = 0; k < nr; k++) {
			assert_int_equal(excludes_0(list[k].relative, list[k].half),
					 list[k].is_significant);
			nr_claims += list[k].is_significant;
			nr_near += list[k].p < DIFF_SIGNIFICANCE && !list[k].is_significant;
			nr_all++;
		}
	}
	print_message("%u of %u claimed; %u more without the correction\n", nr_claims, nr_all,
		      nr_near);
	assert_true(nr_claims > 100 && nr_near > 100);
}

/* Without blocks, what drifts is claimed far too often. */
TEST(drift)
{
	unsigned nr_claims = 0;
	uint64_t seed = 37;

	for (int i = 0; i < 1000; i++) {
		double of[2][NR_AMOUNTS][MAX_RUNS];
		struct amount a = {.value = {of[0][0], of[1][0]}, .nr = {10, 10}};

		run_all(&seed, 10, 0.9, 0.05, of[0]);
		run_all(&seed, 10, 0.9, 0.05, of[1]);
		assert_int_equal(amounts_judge(&a, 1, false), 0);
		nr_claims += a.is_significant;
	}
	print_message("of 1000 drifting pairs, %u are claimed without blocks\n", nr_claims);
	assert_true(nr_claims > 100);
}

static int judge(void *arg)
{
	static const double x[] = {1, 2, 3};
	struct amount list[3];

	(void)arg;
	for (size_t i = 0; i < NR(list); i++)
		list[i] = (struct amount){.value = {x, x}, .nr = {3, 3}};
	return amounts_judge(list, NR(list), true);
}

TEST(without_memory)
{
	inject_every(judge, NULL, 2, 0);
}
