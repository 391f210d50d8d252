/*
 * A lock convoy: each thread formats and writes its line while it holds the lock of all, so that
 * one works and the others stand in a row.
 *
 * Symptom: more threads do not do more; CPUs are idle.
 * Command: cpuperf --spec-file=wall -- ./lock_convoy
 *          cpuperf_print --report=locks
 * What to see: log_line waits for a lock, and holds it; the waits add up to more than the run.
 * Repair: take the lock only to add the finished line to a list ("fixed").
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NR_THREADS = 4, NR_LINES = 25, WRITE_NS = 1500000 };

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int nr_lines, is_fixed;

/* As a slow disk. */
static void write_slowly(void)
{
	nanosleep(&(struct timespec){.tv_nsec = WRITE_NS}, NULL);
}

static __attribute__((noinline)) void log_line(void)
{
	if (is_fixed)
		write_slowly();
	pthread_mutex_lock(&log_lock);
	if (!is_fixed)
		write_slowly();
	nr_lines++;
	pthread_mutex_unlock(&log_lock);
}

static void *serve_clients(void *arg)
{
	for (int i = 0; i < NR_LINES; i++)
		log_line();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread[NR_THREADS];

	is_fixed = argc > 1 && strcmp(argv[1], "fixed") == 0;
	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&thread[i], NULL, serve_clients, NULL);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%d lines\n", nr_lines);
	return 0;
}
