/*
 * The weight of a sampled wait.
 */
#include "kit.h"

#include "base/array.h"
#include "base/wait_weight.h"

TEST(weights)
{
	static const struct {
		uint64_t d_ns, mean_ns, weight;
	} cases[] = {
	    {0, 1000000, 0},
	    {5, 0, 5},
	    {1, 1000000, 1000001}, /* 1e6 + 1 / 2 */
	    {100000, 1000000, 1050833},
	    {1000000, 1000000, 1581977}, /* e / (e - 1) */
	    {20000000, 1000000, 20000000},
	    {UINT64_MAX, 1, UINT64_MAX},
	    {1, UINT64_C(1) << 42, (UINT64_C(1) << 42) + 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t w = wait_weight(cases[i].d_ns, cases[i].mean_ns);
		uint64_t off = w > cases[i].weight ? w - cases[i].weight : cases[i].weight - w;

		if (off > 1)
			fail_msg("case %zu: %llu", i, (unsigned long long)w);
	}
}

/* Of a hostile mean, too: a word counts for something. */
TEST(words)
{
	static const struct {
		uint64_t ns, level, mean_ns, weight;
	} cases[] = {
	    {1000000, 0, 1000000, 1581977},
	    {1000000, 3, 1000000, 8 * UINT64_C(1581977)},
	    {1, 10, 1000000, 1024 * UINT64_C(1000001)},
	    {20000000, 4, 1000000, UINT64_C(20000000)}, /* as long as 16 means: certain */
	    {10000000, 4, 1000000, UINT64_C(16000727)}, /* 10 of 16 */
	    {1000, 11, 1000, 1582},                     /* there is no such level */
	    {1000, 63, 1000, 1582},
	    {77, 2, 0, 77}, /* by records of switches */
	    {UINT64_C(1) << 41, 10, UINT64_C(1) << 42, 0},
	    {UINT64_C(1) << 57, 10, UINT64_MAX, 0},
	};

	for (size_t i = 0; i < ARRAY_NR(cases); i++) {
		uint64_t w = wait_word_weight(cases[i].ns | cases[i].level << WAIT_NS_BITS,
					      cases[i].mean_ns);
		double off = (double)w - (double)cases[i].weight;

		assert_true(w >= cases[i].ns);
		if (cases[i].weight && fabs(off) > 8 + 1e-6 * (double)w)
			fail_msg("case %zu: %llu", i, (unsigned long long)w);
	}
}

/* On average a sample that is kept counts for all that were due. */
TEST(thinning_is_unbiased)
{
	for (unsigned level = 0; level <= WAIT_MAX_LEVEL; level++)
		for (uint64_t ns = 10; ns < UINT64_C(1) << 40; ns *= 3)
			for (uint64_t mean = 1; mean < UINT64_C(1) << 42; mean *= 7) {
				double kept = (double)wait_kept(ns, mean, level) /
					      (1 << WAIT_KEPT_BITS),
				       all = (double)wait_weight(ns, mean),
				       one = (double)wait_word_weight(
					   ns | (uint64_t)level << WAIT_NS_BITS, mean);

				assert_true(kept > 0 && kept <= 1);
				assert_true(kept >= 0.93 / (1 << level));
				assert_true(fabs(kept * one - all) < 1 + 1e-6 * all);
				if (ns >> level >= mean)
					assert_true(kept == 1);
			}
}

/* On average a sample with probability 1 - exp(-d / mean) stands for d. */
TEST(is_unbiased)
{
	for (uint64_t d = 10; d < 1000000000; d *= 3) {
		double p = -expm1(-(double)d / 1e6), w = (double)wait_weight(d, 1000000);

		assert_true(fabs(p * w / (double)d - 1) < 0.001);
	}
}
