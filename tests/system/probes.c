/*
 * Probes that are hit a known number of times. probes N [WORD...]: 4 threads hit demo:tick N times
 * each and demo:guarded, which tests its semaphore, at every tenth; then, by each word,
 *   fork      a child does N more of both
 *   exec      a child executes the program without words
 *   twice     demo:twice is hit at two places, N and 2 N times
 *   red       N calls of a function with a probe in its red zone; prints how many results are wrong
 *   dlopen=F  loads the library F, and calls its function probe N times
 *   wait      first waits for a byte of standard input, after a line of output
 *   stay      at the end waits for a byte
 * At the end it prints how often the guarded part ran in this process.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probes.h"

enum { THREADS = 4 };

__attribute__((section(".probes"), used)) volatile unsigned short demo_semaphore;
static long nr_guarded;

static __attribute__((noinline)) void tick(void)
{
	PROBE(PROBE_NOP, "demo", "tick", "0", "8@$1");
}

static __attribute__((noinline)) void guarded(void)
{
	if (!demo_semaphore)
		return;
	PROBE(PROBE_NOP, "demo", "guarded", "demo_semaphore", "");
	__sync_fetch_and_add(&nr_guarded, 1);
}

static void *hit(void *arg)
{
	for (long i = 0; i < *(long *)arg; i++) {
		tick();
		if (i % 10 == 0)
			guarded();
	}
	return NULL;
}

static __attribute__((noinline)) void first(void)
{
	PROBE(PROBE_NOP, "demo", "twice", "0", "");
}

static __attribute__((noinline)) void second(void)
{
	PROBE(PROBE_NOP, "demo", "twice", "0", "");
}

#if defined(__x86_64__)
/* Returns its argument, which it stores below the stack pointer. */
long in_red_zone(long);
__asm__(".text\n"
	".type in_red_zone, @function\n"
	"in_red_zone: mov %rdi, -8(%rsp)\n"
	"red_probe: " PROBE_NOP5 "\n"
	"mov -8(%rsp), %rax\n"
	"ret\n"
	".size in_red_zone, . - in_red_zone\n" PROBE_NOTE("red_probe", "demo", "red", "0", ""));
#else
static long in_red_zone(long n)
{
	return n;
}
#endif

static void in_child(void (*run)(long n, char *self), long n, char *self)
{
	pid_t pid = fork();

	if (pid == 0) {
		run(n, self);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static void run_here(long n, char *self)
{
	(void)self;
	hit(&n);
	_exit(0);
}

static void run_again(long n, char *self)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", n);
	execl(self, self, text, (char *)NULL);
}

static void load(long n, const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*probe)(void) = library ? (void (*)(void))dlsym(library, "probe") : NULL;

	if (!probe) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	while (n--)
		probe();
}

static void wait_for_byte(void)
{
	char byte;

	puts("waits");
	fflush(stdout);
	(void)!read(0, &byte, 1);
}

static void do_word(const char *word, long n, char *self)
{
	long wrong = 0;

	if (strcmp(word, "fork") == 0)
		in_child(run_here, n, self);
	if (strcmp(word, "exec") == 0)
		in_child(run_again, n, self);
	for (long i = 0; strcmp(word, "twice") == 0 && i < n; i++) {
		first();
		second();
		second();
	}
	for (long i = 1; strcmp(word, "red") == 0 && i <= n; i++)
		wrong += in_red_zone(i) != i;
	if (strcmp(word, "red") == 0)
		printf("%ld wrong\n", wrong);
	if (strncmp(word, "dlopen=", 7) == 0)
		load(n, word + 7);
	if (strcmp(word, "stay") == 0)
		wait_for_byte();
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	pthread_t thread[THREADS];

	if (argc > 2 && strcmp(argv[2], "wait") == 0)
		wait_for_byte();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, hit, &n);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 2; i < argc; i++)
		do_word(argv[i], n, argv[0]);
	printf("guarded %ld\n", nr_guarded);
	return 0;
}
