/* The weight of a wait as programs in the kernel calculate it, against the one of readers. */
#include "kit.h"

#include "bpf/wait_steps.h"

static uint32_t steps[BPF_WAIT_STEPS + 1];

HOOK(before_all)
{
	wait_steps_fill(steps);
}

static void compare(uint64_t ns, uint64_t mean)
{
	double exact = (double)wait_weight(ns, mean);
	double found = (double)bpf_wait_weight(steps, ns, mean);

	if (found < exact * 0.9999 - 1 || found > exact * 1.0001 + 1)
		fail_msg("a wait of %llu ns, mean %llu: %.0f, not %.0f", (unsigned long long)ns,
			 (unsigned long long)mean, found, exact);
}

TEST(within_a_ten_thousandth)
{
	static const uint64_t means[] = {1, 2, 31, 1000, 99991, 1000000, UINT64_C(1) << 42};

	for (size_t i = 0; i < sizeof(means) / sizeof(means[0]); i++) {
		for (uint64_t ns = means[i] / 10000 + 1; ns / 1000000 < means[i];
		     ns += ns / 300 + 1)
			compare(ns, means[i]);
		compare(1, means[i]);
		compare(means[i] * 16 - 1, means[i]);
		compare(means[i] * 16, means[i]);
	}
	compare(UINT64_C(1) << 62, UINT64_C(1) << 42);
}

TEST(exact_if_each_wait_is_sampled)
{
	for (uint64_t ns = 16; ns < 100000; ns++)
		assert_int_equal(bpf_wait_weight(steps, ns, 1), ns);
}
