/* The running share of a count. */
#include "kit.h"

#include "estimate/running.h"

static const struct {
	uint64_t raw, enabled, running;
	bool is_scaled;
	uint64_t count;
	double share;
} cases[] = {
    {7, 0, 0, true, 7, 1}, /* not a perf event */
    {7, 10, 10, true, 7, 1},
    {7, 10, 11, true, 7, 1}, /* the kernel's times may differ by a little */
    {7, 10, 5, true, 14, 0.5},
    {10, 4, 3, true, 13, 0.75},
    {11, 4, 3, true, 15, 0.75}, /* 14.67 */
    {0, 10, 0, false, 0, 0},
    {7, 10, 0, false, 0, 0},
    {UINT64_MAX / 2, 2, 1, true, UINT64_MAX - 1, 0.5},
    {UINT64_MAX / 2 + 1, 2, 1, false, 0, 0.5},
    {UINT64_MAX, UINT64_MAX, 1, false, 0, 0x1p-64},
};

TEST(shares)
{
	for (size_t i = 0; i < NR(cases); i++) {
		uint64_t n = 0;

		assert_float_equal(running_share(cases[i].enabled, cases[i].running),
				   cases[i].share, 1e-12);
		assert_int_equal(
		    running_scale(cases[i].raw, cases[i].enabled, cases[i].running, &n),
		    cases[i].is_scaled);
		assert_int_equal(n, cases[i].count);
	}
}
