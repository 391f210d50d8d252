/*
 * A program that waits in known ways. waits naps|many|short: threads that sleep, and that wait for
 * each other's mutex. Prints what it found itself: "threads N life_ns N naps_ns N", of all threads
 * together, and of all calls of nap(). waits busy: two threads that compute on one CPU; prints how
 * long these ran, and how long they did not. waits crowd NUMBER: as many threads at once, each of
 * which sleeps once. waits long: waits of 0.3 s each in a sleep, for a mutex and for a pipe.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NR = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t life_ns[NR + 1], naps_ns[NR + 1];
static long nr_naps = 15, nap_ns = 10000000;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void nap(uint64_t *spent)
{
	const struct timespec t = {0, nap_ns};
	uint64_t start = now();

	nanosleep(&t, NULL);
	*spent += now() - start;
}

__attribute__((noinline)) static void hold(uint64_t *spent)
{
	pthread_mutex_lock(&mutex);
	nap(spent);
	pthread_mutex_unlock(&mutex);
}

static void *run(void *arg)
{
	uint64_t start = now(), i = (uint64_t)(uintptr_t)arg;

	for (long k = 0; k < nr_naps; k++)
		(i % 2 ? hold : nap)(&naps_ns[i]);
	life_ns[i] = now() - start;
	return NULL;
}

static uint64_t ran_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void compute(uint64_t until_ns)
{
	volatile int unused = 0;

	while (ran_ns() < until_ns)
		for (int i = 0; i < 100000; i++)
			unused = i;
	(void)unused;
}

static void *run_busy(void *arg)
{
	uint64_t start = now(), ran = ran_ns(), i = (uint64_t)(uintptr_t)arg;

	compute(ran + 200000000);
	life_ns[i] = now() - start;
	naps_ns[i] = ran_ns() - ran;
	return NULL;
}

/* Two threads on the CPU that main runs on. */
static int busy(void)
{
	uint64_t start = now(), life, ran;
	pthread_t thread[2];
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return 1;
	for (uintptr_t i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, run_busy, (void *)i))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	life = life_ns[0] + life_ns[1];
	ran = naps_ns[0] + naps_ns[1];
	printf("threads 3 life_ns %llu ran_ns %llu waited_ns %llu\n",
	       (unsigned long long)(life + now() - start), (unsigned long long)ran,
	       (unsigned long long)(life - ran));
	return 0;
}

static void *run_once(void *arg)
{
	uint64_t unused = 0;

	nap(&unused);
	return arg;
}

static int crowd(unsigned long nr)
{
	pthread_t *thread = calloc(nr, sizeof(*thread));
	pthread_attr_t attr;

	if (!thread)
		return 1;
	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 65536))
		abort();
	nap_ns = 500000000;
	for (unsigned long i = 0; i < nr; i++)
		if (pthread_create(&thread[i], &attr, run_once, NULL))
			abort();
	for (unsigned long i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	printf("threads %lu\n", nr + 1);
	return 0;
}

__attribute__((noinline)) static void take(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void receive(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		abort();
}

static void *wait_long(void *arg)
{
	take();
	receive(*(int *)arg);
	return arg;
}

/* The thread waits for the mutex, then for the pipe; main sleeps, and then waits for the thread. */
static int waits_long(void)
{
	uint64_t unused = 0;
	pthread_t thread;
	int fds[2];

	nap_ns = 300000000;
	if (pipe(fds))
		return 1;
	pthread_mutex_lock(&mutex);
	if (pthread_create(&thread, NULL, wait_long, &fds[0]))
		return 1;
	nap(&unused);
	pthread_mutex_unlock(&mutex);
	nap(&unused);
	if (write(fds[1], "x", 1) != 1 || pthread_join(thread, NULL))
		return 1;
	printf("threads 2\n");
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t start = now(), life = 0, naps = 0;
	pthread_t thread[NR];

	if (argc > 1 && strcmp(argv[1], "busy") == 0)
		return busy();
	if (argc > 1 && strcmp(argv[1], "long") == 0)
		return waits_long();
	if (argc > 2 && strcmp(argv[1], "crowd") == 0)
		return crowd(strtoul(argv[2], NULL, 10));
	if (argc > 1 && strcmp(argv[1], "many") == 0)
		nr_naps = 60;
	if (argc > 1 && strcmp(argv[1], "short") == 0) {
		nr_naps = 1000;
		nap_ns = 50000;
	}
	for (uintptr_t i = 0; i < NR; i++)
		if (pthread_create(&thread[i], NULL, run, (void *)i))
			return 1;
	for (int i = 0; i < NR; i++)
		pthread_join(thread[i], NULL);
	life_ns[NR] = now() - start;
	for (int i = 0; i <= NR; i++) {
		life += life_ns[i];
		naps += naps_ns[i];
	}
	printf("threads %d life_ns %llu naps_ns %llu asked_ns %llu\n", NR + 1,
	       (unsigned long long)life, (unsigned long long)naps,
	       (unsigned long long)(NR * nr_naps) * (unsigned long long)nap_ns);
	return 0;
}
