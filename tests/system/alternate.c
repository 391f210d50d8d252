/*
 * A program whose signals' handlers allocate on stacks of the least size: alternate WORD... It
 * prints how many bytes were written beside these stacks. Words: autodisarm: as SS_AUTODISARM;
 * disable, other: the handler takes its stack away, or has another one, with a signal on it,
 * meanwhile; waits: the first handler says "ready", and reads a byte.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline)) static void

enum { BYTES = 8192, GUARD = 4 * BYTES, AUTODISARM = (int)(1u << 31) };

static struct {
	char before[GUARD], own[BYTES], between[GUARD], other[BYTES], after[GUARD];
} room;
static void *volatile keep;
static int flags;
static bool disables, has_other, waits;

FUNCTION set(char *at, int with)
{
	stack_t stack = {.ss_sp = at, .ss_size = BYTES, .ss_flags = with};

	if (sigaltstack(&stack, NULL))
		puts("no stack of signals");
}

FUNCTION allocate(size_t bytes)
{
	keep = malloc(bytes);
	__asm__ volatile("");
}

static void on_other(int number)
{
	(void)number;
	allocate(202);
}

static void on_signal(int number)
{
	char byte;

	(void)number;
	if (waits && write(1, "ready\n", 6) == 6 && read(0, &byte, 1) == 1)
		waits = false;
	if (disables)
		set(NULL, SS_DISABLE);
	if (has_other) {
		set(room.other, flags);
		raise(SIGUSR2);
	}
	allocate(101);
}

static int count(const char *at, size_t bytes)
{
	int nr = 0;

	for (size_t i = 0; i < bytes; i++)
		nr += at[i] != 0;
	return nr;
}

static void *thread(void *arg)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	set(room.own, flags);
	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = on_other;
	sigaction(SIGUSR2, &action, NULL);
	for (int i = 0; i < 3; i++)
		raise(SIGUSR1);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	for (int i = 1; i < argc; i++) {
		flags |= strcmp(argv[i], "autodisarm") == 0 ? AUTODISARM : 0;
		disables |= strcmp(argv[i], "disable") == 0;
		has_other |= strcmp(argv[i], "other") == 0;
		waits |= strcmp(argv[i], "waits") == 0;
	}
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	printf("%d\n",
	       count(room.before, GUARD) + count(room.between, GUARD) + count(room.after, GUARD));
	return 0;
}
