/*
 * False sharing: two threads count in two variables of one cache line, which their CPUs take from
 * each other at each step.
 *
 * Symptom: two threads are hardly faster than one, both CPUs are busy, and no lock is there.
 * Command: cpuperf -g -- ./false_sharing
 *          cpuperf_print --report=annotate --function=count_requests
 * What to see: all time is in one line that adds to memory. With a PMU,
 *          cpuperf -e instructions_retired,unhalted_core_cycles -- ./false_sharing
 *          counts many cycles for each instruction, of a loop that waits for nothing else.
 * Repair: a cache line for each thread ("fixed").
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { NR_THREADS = 2, NR_STEPS = 150000000, CACHE_LINE = 64 };

struct counter {
	volatile long nr;
};

static char memory[(NR_THREADS + 1) * CACHE_LINE] __attribute__((aligned(CACHE_LINE)));
static size_t distance = sizeof(struct counter);

static void *count_requests(void *arg)
{
	struct counter *c = arg;

	for (int i = 0; i < NR_STEPS; i++)
		c->nr++;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[NR_THREADS];

	if (argc > 1 && strcmp(argv[1], "fixed") == 0)
		distance = CACHE_LINE;
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_create(&thread[i], NULL, count_requests, memory + i * distance);
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%d counters, %zu bytes apart\n", NR_THREADS, distance);
	return 0;
}
