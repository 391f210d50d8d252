/*
 * A program of which there are builds, numbered by BUILD: work_a uses WORK_A percent of its time,
 * work_b the rest. Runs for the CPU time in milliseconds that its argument says.
 */
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink = BUILD;

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

__attribute__((noinline)) static void work_a(long nr)
{
	for (long i = 0; i < nr; i++)
		sink += (unsigned long)i;
}

__attribute__((noinline)) static void work_b(long nr)
{
	for (long i = 0; i < nr; i++)
		sink ^= (unsigned long)i;
}

/* Rounds are of random length, so that no sampling clock can fall into step with them. */
static long next_turns(void)
{
	static unsigned long long random = 1;

	random = random * 6364136223846793005u + 1442695040888963407u;
	return 500 + (long)((random >> 32) % 1000);
}

int main(int argc, char **argv)
{
	long long end = cpu_ns() + (argc > 1 ? atoll(argv[1]) : 100) * 1000000LL;

	while (cpu_ns() < end) {
		const long turns = next_turns();

		work_a(turns * WORK_A);
		work_b(turns * (100 - WORK_A));
	}
	return 0;
}
