/*
 * Spins in another function each time: phases [cpu] SECONDS… spins so long in first, then in
 * second, third, fourth, on the wall clock or in CPU time of its own, and then dies of SIGSEGV. It
 * prints the CPU time that it used before, in ns.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static volatile uint64_t sink;

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define PHASE(name)                                                                                \
	static __attribute__((noinline)) void name(clockid_t clock, double until)                  \
	{                                                                                          \
		while (now(clock) < until)                                                         \
			for (unsigned i = 0; i < 20000; i++)                                       \
				sink = sink * 3 + i;                                               \
	}

PHASE(first)
PHASE(second)
PHASE(third)
PHASE(fourth)

int main(int argc, char **argv)
{
	static void (*const phases[])(clockid_t, double) = {first, second, third, fourth};
	const struct rlimit no_core = {0, 0};

	const clockid_t clock =
	    argc > 1 && strcmp(argv[1], "cpu") == 0 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
	char **seconds = argv + 1 + (clock == CLOCK_PROCESS_CPUTIME_ID);

	setrlimit(RLIMIT_CORE, &no_core);
	printf("%.0f\n", now(CLOCK_PROCESS_CPUTIME_ID) * 1e9);
	fflush(stdout);
	for (unsigned i = 0; i < 4 && seconds[i]; i++)
		phases[i](clock, now(clock) + strtod(seconds[i], NULL));
	return raise(SIGSEGV);
}
