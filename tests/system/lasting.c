/*
 * lasting BUSY: threads that wait for ever, each at a place of its own: for a lock, for a pipe, in
 * a sleep below many callers, and the first one in pause(); and a thread that naps 5 ms again and
 * again. BUSY: so many threads compute. Prints how many threads there are when all have begun.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 20, MAX_BUSY = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];

static void rest(long s, long ns)
{
	const struct timespec t = {s, ns};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

__attribute__((noinline)) static void *want_lock(void *arg)
{
	pthread_mutex_lock(&lock);
	return arg;
}

__attribute__((noinline)) static void *want_byte(void *arg)
{
	char c;

	if (read(ends[0], &c, 1) < 0)
		abort();
	return arg;
}

__attribute__((noinline)) static void descend(int depth)
{
	volatile char frame[200];

	frame[depth] = 1;
	if (depth)
		descend(depth - 1);
	else
		rest(100000, 0);
	frame[depth] = 0;
}

__attribute__((noinline)) static void *sleep_deep(void *arg)
{
	descend(DEPTH);
	return arg;
}

__attribute__((noinline)) static void *nap(void *arg)
{
	for (;;)
		rest(0, 5000000);
	return arg;
}

__attribute__((noinline)) static void *compute(void *arg)
{
	for (volatile long i = 0;; i = i + 1)
		;
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const waits[])(void *) = {want_lock, want_byte, sleep_deep, nap};
	int nr = sizeof(waits) / sizeof(waits[0]), nr_busy = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t t;

	if (nr_busy > MAX_BUSY || pipe(ends) || pthread_mutex_lock(&lock))
		return 1;
	for (int i = 0; i < nr + nr_busy; i++)
		if (pthread_create(&t, NULL, i < nr ? waits[i] : compute, NULL))
			return 1;
	rest(0, 100000000);
	printf("%d\n", 1 + nr + nr_busy);
	fflush(stdout);
	for (;;)
		pause();
}
