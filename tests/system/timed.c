/*
 * Functions that measure themselves: test_functions_timed.py compares. Each prints NAME INNER OUTER
 * CALLS: the ns that its own clock saw within its calls, and around them, and how many ended by a
 * return. What cpuperf says lies between both.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define OUT __attribute__((noinline, noclone))
#define IN  static inline __attribute__((always_inline))

IN long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct own {
	const char *name;
	long inner, outer, calls;
} own[16];

IN struct own *find(const char *name)
{
	struct own *o = own;

	while (o->name && strcmp(o->name, name) != 0)
		o++;
	o->name = name;
	return o;
}

#define AROUND(name, call)                                                                         \
	do {                                                                                       \
		struct own *around_own = find(name);                                               \
		const long around_begin = now_ns();                                                \
                                                                                                   \
		call;                                                                              \
		around_own->outer += now_ns() - around_begin;                                      \
		around_own->calls++;                                                               \
	} while (0)

static volatile int sink;

IN void wait_ns(long ns)
{
	const long begin = now_ns();

	while (now_ns() - begin < ns)
		;
}

/* --- a return; several; a table of them */

OUT int work_plain(int us)
{
	const long begin = now_ns();

	wait_ns(us * 1000L);
	find("work_plain")->inner += now_ns() - begin;
	return us + 1;
}

OUT int work_returns(int n)
{
	struct own *o = find("work_returns");
	const long begin = now_ns();

	if (n == 1) {
		wait_ns(1000000);
		o->inner += now_ns() - begin;
		return sink + 3;
	}
	if (n == 2)
		return 5;
	wait_ns(2000000);
	o->inner += now_ns() - begin;
	sink = n;
	return n * 7;
}

/* --- its own time is what is not that of the function it calls */

OUT int work_outer(int us)
{
	struct own *o = find("work_outer");
	long begin = now_ns();
	int sum;

	wait_ns(1000000);
	o->inner += now_ns() - begin;
	AROUND("work_plain", sum = work_plain(us));
	sink = sum;
	begin = now_ns();
	wait_ns(1000000);
	o->inner += now_ns() - begin;
	return sum + sink;
}

/* --- it ends where it jumps to another */

OUT int work_jumps(int us)
{
	const long begin = now_ns();

	wait_ns(1000000);
	find("work_jumps")->inner += now_ns() - begin;
	return work_plain(us);
}

OUT int work_deep(int n)
{
	const long begin = now_ns();
	int sum = 1;

	wait_ns(200000);
	find("work_deep")->inner += now_ns() - begin;
	if (n)
		sum += work_deep(n - 1);
	sink = sum;
	return sum + sink;
}

/* --- calls that are left */

static jmp_buf back;

OUT int work_left(int n)
{
	sink = n;
	if (n % 2)
		longjmp(back, 1);
	return sink + 1;
}

/* Where one was that was left. */
OUT int work_after(int us)
{
	const long begin = now_ns();

	wait_ns(us * 1000L);
	find("work_after")->inner += now_ns() - begin;
	return us + sink;
}

OUT int work_catches(int nr)
{
	volatile int sum = 0;

	for (volatile int i = 0; i < nr; i++)
		if (!setjmp(back))
			sum += work_left(i);
		else
			sum += work_after(100);
	return sum;
}

OUT void work_handles(int signal)
{
	sink += signal;
	sink--;
}

OUT int work_raises(int nr)
{
	for (int i = 0; i < nr; i++)
		raise(SIGUSR1);
	return sink;
}

OUT int work_often(int nr)
{
	sink = nr;
	return nr * 3 + sink;
}

OUT void *work_threads(void *arg)
{
	for (int i = 0; i < 1000; i++)
		sink = work_often(i);
	return arg;
}

/* --- stacks that are changed: calls are counted, whatever is known of their times */

static ucontext_t main_context, other_context;

OUT int work_switches(int n)
{
	sink = n;
	swapcontext(&other_context, &main_context);
	return sink + n;
}

static void run_other(void)
{
	for (int i = 0;; i++)
		sink = work_switches(i);
}

OUT int work_between(int nr)
{
	static char stack[1 << 16];

	getcontext(&other_context);
	other_context.uc_stack.ss_sp = stack;
	other_context.uc_stack.ss_size = sizeof(stack);
	makecontext(&other_context, run_other, 0);
	for (int i = 0; i < nr; i++)
		swapcontext(&main_context, &other_context);
	return sink;
}

OUT void work_ends(int code)
{
	fflush(stdout);
	_exit(code);
}

int main(void)
{
	pthread_t thread[4];
	int status;

	signal(SIGUSR1, work_handles);
	for (int i = 0; i < 5; i++)
		AROUND("work_plain", work_plain(2000));
	for (int i = 0; i < 5; i++)
		AROUND("work_returns", work_returns(i));
	AROUND("work_outer", work_outer(3000));
	AROUND("work_jumps", work_jumps(8000));
	find("work_plain")->calls++; /* that one, too */
	AROUND("work_deep", work_deep(9));
	AROUND("work_catches", work_catches(100));
	sink += work_raises(50);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, work_threads, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	sink += work_between(20);
	if (!fork()) {
		for (int i = 0; i < 10; i++)
			work_often(i);
		_exit(work_often(1) != 4);
	}
	wait(&status);
	for (struct own *o = own; o->name; o++)
		printf("%s %ld %ld %ld\n", o->name, o->inner, o->outer, o->calls);
	printf("child %d\n", status);
	work_ends(6);
}
