/*
 * A program whose main thread is woken in known ways: by another thread that unlocks a mutex, by
 * one that writes into a pipe, by a child that ends, and by a timer. A thread is woken because main
 * returns. Each wait lasts 60 ms or longer. With an argument: by a child, that many times, after
 * some us.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int is_held, step;
static int fds[2];

__attribute__((noinline)) static void nap(void)
{
	const struct timespec t = {0, 60000000};

	nanosleep(&t, NULL);
}

/* Until the main thread has begun the step and waits, and then 60 ms. */
static void wait_for(int which)
{
	char text[512] = "", *state;

	while (atomic_load(&step) < which)
		usleep(1000);
	do {
		FILE *f = fopen("/proc/self/stat", "re"); /* of the main thread */

		if (!f || !fgets(text, sizeof(text), f))
			_exit(1);
		fclose(f);
		state = strrchr(text, ')');
		usleep(1000);
	} while (!state || state[2] != 'S');
	nap();
}

__attribute__((noinline)) static void unlock_it(void)
{
	pthread_mutex_unlock(&mutex);
	__asm__ volatile("");
}

__attribute__((noinline)) static void send_it(void)
{
	if (write(fds[1], "x", 1) != 1)
		_exit(1);
}

static void *act(void *unused)
{
	pthread_setname_np(pthread_self(), "actor");
	pthread_mutex_lock(&mutex);
	atomic_store(&is_held, 1);
	wait_for(1);
	unlock_it();
	wait_for(2);
	send_it();
	pause();
	return unused;
}

__attribute__((noinline)) static void receive_it(void)
{
	char c;

	if (read(fds[0], &c, 1) != 1)
		_exit(1);
}

static int exchange(int nr)
{
	int back[2];
	char c = 0;

	if (pipe(fds) || pipe(back))
		return 1;
	if (fork() == 0) {
		while (nr-- && read(fds[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
			;
		_exit(0);
	}
	while (nr-- && write(fds[1], &c, 1) == 1 && read(back[0], &c, 1) == 1)
		;
	return wait(NULL) < 0;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc > 1)
		return exchange(atoi(argv[1]));
	if (pipe(fds) || pthread_create(&t, NULL, act, NULL))
		return 1;
	while (!atomic_load(&is_held))
		usleep(1000);
	atomic_store(&step, 1);
	pthread_mutex_lock(&mutex);
	atomic_store(&step, 2);
	receive_it();
	if (fork() == 0) {
		nap();
		return 0;
	}
	wait(NULL);
	nap();
	return 0;
}
