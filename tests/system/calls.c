/*
 * Functions whose calls are known, for test_calls.py: each word names what is done. The sum that is
 * printed at the end depends on each result. With LEAVES also what leaves functions without
 * returning, or changes the stack: of a program that can do so no times are measured.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NAMED __attribute__((noinline))

enum { THREADS = 3, STACK_BYTES = 256 << 10 };

static volatile unsigned sum;
static unsigned nr = 1000;

NAMED int leaf(int n)
{
	sum = sum + 1;
	return n + 1;
}

NAMED void sleeper(void)
{
	struct timespec t = {.tv_nsec = 20000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
	sum = sum + 1;
}

NAMED void outer(void)
{
	sleeper();
	sum = sum + leaf(1);
	sleeper();
	sum = sum + 1;
}

NAMED int deep(unsigned n)
{
	int below = n > 1 ? deep(n - 1) : 0;

	sum = sum + 1;
	return below + 1;
}

static void *call_leaves(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < nr; i++)
		sum = sum * 3 + (unsigned)leaf((int)i);
	return NULL;
}

static void count(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++) {
		pthread_create(&thread[i], NULL, call_leaves, NULL);
		pthread_join(thread[i], NULL);
	}
	if (fork() == 0) {
		call_leaves(NULL);
		_exit(0);
	}
	wait(NULL);
}

#ifdef LEAVES
/* --- what leaves functions without returning */

static jmp_buf back;

NAMED void leaper(int n)
{
	sum = sum + (unsigned)n;
	longjmp(back, 1);
}

NAMED void caller_of_leaper(int n)
{
	leaper(n);
	sum = sum + 1;
}

static void leap(void)
{
	for (volatile unsigned i = 0; i < nr; i++) {
		if (setjmp(back) == 0)
			caller_of_leaper((int)i);
		sum = sum * 3 + (unsigned)leaf((int)i);
	}
}

/* --- other stacks */

static ucontext_t first, second, above;

NAMED int work(ucontext_t *me, ucontext_t *other, int n)
{
	sum = sum + 1;
	swapcontext(me, other);
	return leaf(n) + 1;
}

static void run_first(void)
{
	for (int i = 0; i < 10; i++)
		sum = sum * 3 + (unsigned)work(&first, &second, i);
	swapcontext(&first, &above);
}

static void run_second(void)
{
	for (int i = 0;; i++)
		sum = sum * 3 + (unsigned)work(&second, &first, i);
}

static void make_stack(ucontext_t *c, char *stack, void (*fn)(void))
{
	getcontext(c);
	c->uc_stack.ss_sp = stack;
	c->uc_stack.ss_size = STACK_BYTES;
	c->uc_link = &above;
	makecontext(c, fn, 0);
}

/* Two stacks, each behind a page that cannot be accessed. */
static void swap_stacks(int is_second_below)
{
	enum { PAGE = 4096, EACH = STACK_BYTES + PAGE };
	char *memory =
	    mmap(NULL, 2 * EACH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(memory, PAGE, PROT_NONE);
	mprotect(memory + EACH, PAGE, PROT_NONE);
	make_stack(&first, memory + PAGE + (is_second_below ? EACH : 0), run_first);
	make_stack(&second, memory + PAGE + (is_second_below ? 0 : EACH), run_second);
	swapcontext(&above, &first);
}

NAMED int in_handler(void)
{
	sum = sum + 1;
	return (int)sum;
}

static void on_signal(int number)
{
	(void)number;
	sum = sum + (unsigned)in_handler();
}

NAMED void raiser(void)
{
	raise(SIGUSR1);
	sum = sum + 1;
}

/* The handler's stack is above that of the coroutine, which it interrupts. */
static void take_signal(void)
{
	static char stack[STACK_BYTES];
	char *on_main_stack = __builtin_alloca(STACK_BYTES);
	stack_t s = {.ss_sp = on_main_stack, .ss_size = STACK_BYTES};
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	sigaltstack(&s, NULL);
	sigaction(SIGUSR1, &a, NULL);
	make_stack(&first, stack, raiser);
	swapcontext(&above, &first);
	s.ss_flags = SS_DISABLE;
	sigaltstack(&s, NULL);
}

#endif

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	int (*call)(int) = library ? (int (*)(int))dlsym(library, "in_library") : NULL;

	for (unsigned i = 0; i < nr && call; i++)
		sum = sum * 3 + (unsigned)call((int)i);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];

		if (strncmp(word, "nr=", 3) == 0)
			nr = (unsigned)atoi(word + 3);
		else if (strcmp(word, "count") == 0)
			count();
		else if (strcmp(word, "sleep") == 0)
			outer();
		else if (strcmp(word, "deep") == 0)
			sum = sum + (unsigned)deep(nr);
		else if (strcmp(word, "exec") == 0 && i + 1 < argc)
			execv(argv[0], argv + i);
		else if (strncmp(word, "load=", 5) == 0)
			load(word + 5);
		else if (strcmp(word, "forever") == 0)
			for (;;)
				call_leaves(NULL);
#ifdef LEAVES
		if (strcmp(word, "leap") == 0)
			leap();
		else if (strcmp(word, "stacks") == 0)
			swap_stacks(0);
		else if (strcmp(word, "stacks-below") == 0)
			swap_stacks(1);
		else if (strcmp(word, "signal") == 0)
			take_signal();
#endif
	}
	printf("%u\n", sum);
	return 0;
}
