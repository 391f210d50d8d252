#include "kit.h"

static unsigned long long seed(void)
{
	static unsigned long long seed;
	static bool is_known;
	const char *wanted = getenv("CPUPERF_TEST_SEED");

	if (!is_known)
		seed = wanted ? strtoull(wanted, NULL, 10) : 0;
	if (!is_known)
		print_message("a part is tried: CPUPERF_TEST_SEED=%llu\n", seed);
	is_known = true;
	return seed;
}

size_t stride_by(size_t nr, size_t most)
{
	const char *wanted = getenv("CPUPERF_TEST_LONG");

	return nr <= most || (wanted && strcmp(wanted, "1") == 0) ? 1 : (nr + most - 1) / most;
}

size_t stride_from(size_t by)
{
	return by > 1 ? seed() % by : 0;
}
