/*
 * A program with known latencies: latency THREADS CALLS [US]. Each thread asks another one, which
 * answers a pipe US (2000) microseconds after it has seen the first one wait, and receives the
 * answer with readv(2), where alone it waits then; then it sleeps 1 ms by clock_nanosleep(2).
 * Nothing else in it calls these two. Prints what it measured around the calls, in ns, sorted:
 * "readv NS NS …" and "clock_nanosleep NS NS …".
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CALLS = 100000 };

static uint64_t took[2][MAX_CALLS];
static size_t nr[2], nr_calls;
static long delay_us = 2000;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct pair {
	int ask[2], answer[2];
	pid_t tid; /* who asks */
};

static void pause_us(long us)
{
	select(0, NULL, NULL, NULL, &(struct timeval){.tv_usec = us});
}

/* fd: its stat file. */
static int waits(int fd)
{
	char text[512] = "";
	const char *state;

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		abort();
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

static void *answer(void *arg)
{
	const struct pair *p = arg;
	char c, path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", p->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (read(p->ask[0], &c, 1) == 1) {
		while (!waits(fd))
			pause_us(100);
		pause_us(delay_us);
		if (write(p->answer[1], &c, 1) != 1)
			abort();
	}
	close(fd);
	return NULL;
}

static void add(int which, uint64_t start)
{
	took[which][__atomic_fetch_add(&nr[which], 1, __ATOMIC_RELAXED)] = now() - start;
}

static void *ask(void *arg)
{
	const struct timespec nap = {0, 1000000};
	struct pair p;
	pthread_t other;
	char c = 0;

	(void)arg;
	p.tid = gettid();
	if (pipe(p.ask) || pipe(p.answer) || pthread_create(&other, NULL, answer, &p))
		abort();
	for (size_t i = 0; i < nr_calls; i++) {
		uint64_t start;

		if (write(p.ask[1], &c, 1) != 1)
			abort();
		start = now();
		if (readv(p.answer[0], &(struct iovec){&c, 1}, 1) != 1)
			abort();
		add(0, start);
		start = now();
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
		add(1, start);
	}
	close(p.ask[1]);
	pthread_join(other, NULL);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"readv", "clock_nanosleep"};
	int nr_threads = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 1;
	pthread_t thread[64];

	delay_us = argc > 3 ? strtol(argv[3], NULL, 10) : delay_us;
	nr_calls = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
	if (nr_threads < 1 || nr_threads > 64 || nr_calls * (size_t)nr_threads > MAX_CALLS)
		return 2;
	for (int i = 0; i < nr_threads; i++)
		if (pthread_create(&thread[i], NULL, ask, NULL))
			return 1;
	for (int i = 0; i < nr_threads; i++)
		pthread_join(thread[i], NULL);
	for (int w = 0; w < 2; w++) {
		qsort(took[w], nr[w], sizeof(took[w][0]), compare);
		printf("%s", names[w]);
		for (size_t i = 0; i < nr[w]; i++)
			printf(" %llu", (unsigned long long)took[w][i]);
		printf("\n");
	}
	return 0;
}
