/*
 * A busy wait: a thread asks again and again whether the result is there, and burns a CPU.
 *
 * Symptom: a program that has nothing to do uses a whole CPU.
 * Command: cpuperf -- ./busy_wait
 * What to see: nearly all CPU time is in wait_for_result.
 * Repair: sleep on a condition, which the thread with the result signals ("fixed").
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_there = PTHREAD_COND_INITIALIZER;
static atomic_int result;
static int is_fixed;

/* As a server's answer, which takes its time. */
static void *fetch_result(void *arg)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	pthread_mutex_lock(&lock);
	atomic_store(&result, 42);
	pthread_cond_signal(&is_there);
	pthread_mutex_unlock(&lock);
	return arg;
}

static __attribute__((noinline)) int wait_for_result(void)
{
	while (!is_fixed && !atomic_load(&result))
		;
	pthread_mutex_lock(&lock);
	while (!atomic_load(&result))
		pthread_cond_wait(&is_there, &lock);
	pthread_mutex_unlock(&lock);
	return atomic_load(&result);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	is_fixed = argc > 1 && strcmp(argv[1], "fixed") == 0;
	pthread_create(&thread, NULL, fetch_result, NULL);
	printf("the result is %d\n", wait_for_result());
	pthread_join(thread, NULL);
	return 0;
}
