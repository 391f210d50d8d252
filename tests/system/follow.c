/*
 * follow sleep THREADS MS: waits for a byte; then each of THREADS threads, the first one among
 * them, sleeps MS; prints how long they slept together, in ns. follow nap MS [CPU]: for each byte
 * it reads, sleeps MS, and answers with a byte; on that CPU. follow burn MS: computes that long.
 * follow exec MS: two threads wait, and then a third one; after MS that one starts this program
 * anew, which sleeps MS.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long ms;
static const char *self;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void nap(void)
{
	const struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void *sleep_once(void *arg)
{
	uint64_t *ns = arg, begin = now_ns(CLOCK_MONOTONIC);

	nap();
	*ns = now_ns(CLOCK_MONOTONIC) - begin;
	return NULL;
}

static void sleep_all(int nr)
{
	pthread_t t[64];
	uint64_t ns[64], sum = 0;
	char c;

	puts("ready");
	fflush(stdout);
	if (nr < 1 || nr > 64 || read(0, &c, 1) < 0)
		exit(1);
	for (int i = 1; i < nr; i++)
		pthread_create(&t[i], NULL, sleep_once, &ns[i]);
	sleep_once(&ns[0]);
	for (int i = 1; i < nr; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < nr; i++)
		sum += ns[i];
	printf("%llu\n", (unsigned long long)sum);
}

static void nap_often(int cpu)
{
	cpu_set_t one;
	char c;

	CPU_ZERO(&one);
	CPU_SET(cpu < 0 ? 0 : cpu, &one);
	if (cpu >= 0 && sched_setaffinity(0, sizeof(one), &one))
		exit(1);
	while (read(0, &c, 1) == 1) {
		nap();
		if (write(1, &c, 1) != 1)
			exit(1);
	}
}

static __attribute__((noinline)) void burn(void)
{
	uint64_t end = now_ns(CLOCK_PROCESS_CPUTIME_ID) + (uint64_t)ms * 1000000;

	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < end)
		;
}

static atomic_int pausing; /* the thread that pauses */

static __attribute__((noinline)) void *pause_there(void *arg)
{
	pausing = gettid();
	pause();
	return arg;
}

static void wait_until_asleep(int tid)
{
	char path[64], text[256], *state;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	do {
		FILE *f = fopen(path, "re");

		state = f && fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
		if (f)
			fclose(f);
		sched_yield();
	} while (!state || strncmp(state, ") S", 3) != 0);
}

static __attribute__((noinline)) void *start_anew(void *arg)
{
	char text[32];

	while (!pausing)
		sched_yield();
	wait_until_asleep(pausing);
	wait_until_asleep(getpid());
	snprintf(text, sizeof(text), "%ld", ms);
	nap();
	execl(self, self, "last", text, NULL);
	return arg;
}

static __attribute__((noinline)) int sleep_last(void)
{
	nap();
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	pthread_t t[2];

	self = argv[0];
	ms = argc > 2 ? atol(argv[argc > 3 && !strcmp(what, "sleep") ? 3 : 2]) : 0;
	if (!strcmp(what, "sleep")) {
		sleep_all(atoi(argv[2]));
	} else if (!strcmp(what, "nap")) {
		nap_often(argc > 3 ? atoi(argv[3]) : -1);
	} else if (!strcmp(what, "burn")) {
		burn();
	} else if (!strcmp(what, "last")) {
		return sleep_last();
	} else if (!strcmp(what, "exec")) {
		pthread_create(&t[0], NULL, pause_there, NULL);
		pthread_create(&t[1], NULL, start_anew, NULL);
		pause();
	} else {
		return 2;
	}
	return 0;
}
