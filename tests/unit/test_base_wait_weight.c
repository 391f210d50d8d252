/*
 * The weight of a sampled wait.
 */
#include "kit.h"

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

/* On average a sample with probability 1 - exp(-d / mean) stands for d. */
TEST(is_unbiased)
{
	for (uint64_t d = 10; d < 1000000000; d *= 3) {
		double p = -expm1(-(double)d / 1e6), w = (double)wait_weight(d, 1000000);

		assert_true(fabs(p * w / (double)d - 1) < 0.001);
	}
}
