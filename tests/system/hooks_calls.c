/*
 * A program whose calls are known: hooks_calls MODE. test_hooks.py builds it in several ways.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT   __attribute__((noinline))
#define PLAIN __attribute__((no_instrument_function, noinline))

static volatile int sink;

OUT int leaf(int x)
{
	sink = x;
	return x * 3 + 1;
}

OUT int middle(int x)
{
	int sum = 0;

	for (int i = 0; i < 10; i++)
		sum += leaf(x + i);
	return sum;
}

OUT int again(int depth)
{
	return depth ? again(depth - 1) + leaf(depth) : 0;
}

/* Arguments of all kinds, and what is returned. */
OUT double mixed(int a, double b, long c, float d, const char *e, double f, int g, int h, int i,
		 int j, long double k)
{
	return a + b + (double)c + (double)d + (double)strlen(e) + f + g + h + i + j + (double)k;
}

typedef double wide __attribute__((vector_size(32)));

__attribute__((target("avx"))) OUT wide add_wide(wide a, wide b)
{
	return a + b;
}

__attribute__((target("avx"))) OUT double sum_wide(void)
{
	wide a = {1, 2, 3, 4}, b = {10, 20, 30, 40}, c = add_wide(a, b);

	return c[0] + c[1] * 100 + c[2] * 10000 + c[3] * 1000000;
}

static jmp_buf back;

OUT void jump(int i)
{
	leaf(i);
	longjmp(back, 1);
}

OUT void deeper(int i)
{
	volatile char room[256];

	room[i % 256] = 1;
	jump(i);
	sink = room[i % 256];
}

OUT void jumps(void)
{
	for (volatile int i = 0; i < 70000; i++)
		if (!setjmp(back))
			deeper(i);
	leaf(0);
}

static volatile sig_atomic_t nr_signals;

OUT void handled(int signal)
{
	(void)signal;
	nr_signals++;
}

static sigjmp_buf outside;
static timer_t timer;

OUT void escape(int signal)
{
	const struct itimerspec none = {0};

	(void)signal;
	if (++nr_signals == 2000)
		timer_settime(timer, 0, &none, NULL);
	siglongjmp(outside, 1);
}

PLAIN static void begin_signals(void (*handler)(int))
{
	const struct itimerspec every = {{0, 20000}, {0, 20000}};
	struct sigaction action = {.sa_handler = handler};

	sigaction(SIGALRM, &action, NULL);
	timer_create(CLOCK_MONOTONIC, NULL, &timer);
	timer_settime(timer, 0, &every, NULL);
}

OUT void *work(void *arg)
{
	for (int i = 0; i < 1000; i++)
		sink = leaf(i);
	return arg;
}

PLAIN static void threads(int nr)
{
	pthread_t thread[400];

	for (int i = 0; i < nr; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
}

static pthread_barrier_t barrier;

OUT void *wait_for_all(void *arg)
{
	leaf(1);
	pthread_barrier_wait(&barrier);
	for (int i = 1; i < 5000; i++)
		leaf(i);
	return arg;
}

PLAIN static void crowd(int nr)
{
	pthread_t thread[400];

	pthread_barrier_init(&barrier, NULL, (unsigned)nr);
	for (int i = 0; i < nr; i++)
		pthread_create(&thread[i], NULL, wait_for_all, NULL);
	for (int i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
}

/* The child's first call has arguments in registers of vectors. */
__attribute__((target("avx"))) PLAIN static void fork_wide(void)
{
	wide a = {1, 2, 3, 4}, b = {10, 20, 30, 40};
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		wide c = add_wide(a, b);

		_exit(c[0] == 11 && c[1] == 22 && c[2] == 33 && c[3] == 44 ? 0 : 1);
	}
	waitpid(child, &status, 0);
	printf("wide %d\n", status);
}

PLAIN static void forks(void)
{
	middle(1);
	if (__builtin_cpu_supports("avx"))
		fork_wide();
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();

		if (child == 0) {
			middle(2);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	for (int i = 0; i < 3; i++) {
		pid_t child = vfork();

		if (child == 0) {
			leaf(1);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	middle(3);
}

PLAIN static void many_children(void)
{
	for (int i = 0; i < 1100; i++) {
		pid_t child = fork();

		if (child == 0) {
			leaf(1);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

PLAIN int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "plain";

	errno = 77;
	if (strcmp(mode, "plain") == 0) {
		double all = mixed(1, 2.5, 3, 4.5f, "abc", 6.25, 7, 8, 9, 10, 11.125L);

		for (int i = 0; i < 1000; i++)
			sink = middle(i);
		sink = again(50);
		printf("%.3f\n", all);
		printf("%.3f\n", mixed(1, 2.5, 3, 4.5f, "abc", 6.25, 7, 8, 9, 10, 11.125L));
		if (__builtin_cpu_supports("avx"))
			printf("%.1f\n", sum_wide());
	} else if (strcmp(mode, "jumps") == 0) {
		jumps();
	} else if (strcmp(mode, "deep") == 0) {
		again(70000);
	} else if (strcmp(mode, "threads") == 0) {
		for (int i = 0; i < 10; i++)
			threads(20);
	} else if (strcmp(mode, "crowd") == 0) {
		crowd(200);
	} else if (strcmp(mode, "many") == 0) {
		many_children();
	} else if (strcmp(mode, "forks") == 0) {
		forks();
	} else if (strcmp(mode, "signals") == 0) {
		begin_signals(handled);
		while (nr_signals < 2000)
			for (int i = 0; i < 1000; i++)
				sink = leaf(i);
		timer_delete(timer);
		printf("signals %d\n", (int)nr_signals);
	} else if (strcmp(mode, "escapes") == 0) {
		/* the first signal may come at once: there must be a place to jump to */
		if (sigsetjmp(outside, 1) == 0)
			begin_signals(escape);
		if (nr_signals < 2000)
			for (;;)
				sink = leaf(1);
		sink = again(10);
		printf("signals %d\n", (int)nr_signals);
	} else if (strcmp(mode, "killed") == 0) {
		for (int i = 0; i < 1000; i++)
			sink = middle(i);
		kill(getpid(), SIGKILL);
	} else if (strcmp(mode, "exec") == 0) {
		middle(1);
		execl("/proc/self/exe", argv[0], "plain", (char *)NULL);
	}
	printf("%s %d, errno %d\n", mode, sink, errno);
	return 3;
}
