/*
 * Spins in another function each time: phases SECONDS… spins so long in first, then in second,
 * third, fourth, on the wall clock, and then dies of SIGSEGV.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static volatile uint64_t sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define PHASE(name)                                                                                \
	static __attribute__((noinline)) void name(double until)                                   \
	{                                                                                          \
		while (now() < until)                                                              \
			for (unsigned i = 0; i < 20000; i++)                                       \
				sink = sink * 3 + i;                                               \
	}

PHASE(first)
PHASE(second)
PHASE(third)
PHASE(fourth)

int main(int argc, char **argv)
{
	static void (*const phases[])(double) = {first, second, third, fourth};
	const struct rlimit no_core = {0, 0};

	setrlimit(RLIMIT_CORE, &no_core);
	for (int i = 1; i < argc && i <= 4; i++)
		phases[i - 1](now() + strtod(argv[i], NULL));
	return raise(SIGSEGV);
}
