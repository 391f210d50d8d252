/*
 * Threads of which it is known what a faster function would bring: causal HOW WHOLE PART [PERCENT
 * [PERCENT]]. `critical` runs for so many million loops in one thread, `slack` for the part in
 * another one; they are joined, or meet at a barrier ten times, or (serial) run in one thread;
 * lock: both in each of two threads, critical with a lock; masked: in one that blocks all signals,
 * of a child by fork; pipe: of a child that says so by a pipe. The last arguments really cut the
 * loops of critical, and of slack.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 10 };

static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long rounds = 1;
static const unsigned long million = 1000000;

static __attribute__((noinline)) unsigned long critical(unsigned long nr)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < nr; i++)
		__asm__ volatile("" : "+r"(x));
	return x;
}

static __attribute__((noinline)) unsigned long slack(unsigned long nr)
{
	unsigned long x = 2;

	for (unsigned long i = 0; i < nr; i++)
		__asm__ volatile("" : "+r"(x));
	return x;
}

struct work {
	unsigned long (*function)(unsigned long);
	unsigned long nr;
};

static void *run(void *of)
{
	const struct work *w = of;

	for (long i = 0; i < rounds; i++) {
		(void)w->function(w->nr / (unsigned long)rounds);
		if (rounds > 1)
			pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void *run_locked(void *of)
{
	const struct work *w = of;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		(void)critical(w[0].nr / (2 * ROUNDS));
		pthread_mutex_unlock(&lock);
		(void)slack(w[1].nr / (2 * ROUNDS));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct work whole = {critical, 0}, part = {slack, 0};
	pthread_t other, one;
	pid_t child = -1;
	sigset_t all;
	int status, fds[2];
	char byte;

	if (argc < 4)
		return 2;
	whole.nr = million * strtoul(argv[2], NULL, 10);
	part.nr = million * strtoul(argv[3], NULL, 10);
	if (argc > 4)
		whole.nr = whole.nr / 100 * (100 - strtoul(argv[4], NULL, 10));
	if (argc > 5)
		part.nr = part.nr / 100 * (100 - strtoul(argv[5], NULL, 10));
	if (strcmp(argv[1], "masked") == 0) {
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, NULL);
		child = fork();
		if (child)
			return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 1;
	}
	if (strcmp(argv[1], "pipe") == 0) {
		if (pipe(fds))
			return 1;
		child = fork();
		if (child)
			return read(fds[0], &byte, 1) == 1 ? 4 : 1;
		run(&whole);
		_exit(write(fds[1], "", 1) != 1);
	}
	if (strcmp(argv[1], "serial") == 0 || child == 0) {
		run(&whole);
		run(&part);
		return 3;
	}
	if (strcmp(argv[1], "barrier") == 0)
		rounds = ROUNDS;
	pthread_barrier_init(&barrier, NULL, 2);
	if (strcmp(argv[1], "lock") == 0) {
		const struct work both[] = {whole, part};

		if (pthread_create(&one, NULL, run_locked, (void *)both))
			return 1;
		(void)run_locked((void *)both);
		pthread_join(one, NULL);
		return 0;
	}
	if (pthread_create(&one, NULL, run, &whole) || pthread_create(&other, NULL, run, &part))
		return 1;
	pthread_join(other, NULL);
	pthread_join(one, NULL);
	return 0;
}
