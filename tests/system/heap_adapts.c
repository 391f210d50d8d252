/*
 * A program that allocates more than can be recorded, in several ways, and loses memory before and
 * after that: heap_adapts KIND. Prints the bytes that it allocated in early, brief and late, of
 * which those of early and late are lost. NOLINTBEGIN(clang-analyzer-unix.Malloc)
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { EARLY = 500, LATE = 20000, FEW = 2000, MANY = 300000, NR_THREADS = 4, GROWN = 4000 };

static void *volatile keep;
static void *grown[GROWN];
static int nr_processes = 1;

NOINLINE static void early(void)
{
	for (int i = 0; i < EARLY; i++)
		keep = malloc(112);
	__asm__ volatile("");
}

NOINLINE static void late(void)
{
	for (int i = 0; i < LATE; i++)
		keep = malloc(1000);
	__asm__ volatile("");
}

/* Its bytes. */
NOINLINE static size_t brief(int nr, int seed)
{
	size_t sum = 0;

	for (int i = 0; i < nr; i++) {
		const size_t bytes = 1 + (size_t)(i * 37 + seed) % 400;
		void *p = malloc(bytes);

		__asm__ volatile("" : : "r"(p) : "memory");
		sum += bytes;
		free(p);
	}
	return sum;
}

static size_t few(void)
{
	return brief(FEW, 0);
}

static size_t steady(void)
{
	return brief(MANY, 0);
}

/* Blocks of before are freed after others were sampled, and the other way round. */
static size_t growing(void)
{
	size_t sum = 0;

	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < GROWN; i++) {
			const size_t bytes = 1 + (size_t)(i + round) % 256;

			grown[i] = realloc(grown[i], bytes);
			sum += bytes;
		}
		sum += brief(GROWN, round);
	}
	for (int i = 0; i < GROWN; i++)
		free(grown[i]);
	return sum;
}

static size_t bursts(void)
{
	size_t sum = 0;

	for (int i = 0; i < 10; i++) {
		sum += brief(MANY / 10, i);
		usleep(1000);
	}
	return sum;
}

static void *thread(void *arg)
{
	size_t *sum = arg;

	*sum = brief(MANY / 2, (int)*sum);
	return NULL;
}

static size_t threads(void)
{
	pthread_t id[NR_THREADS];
	size_t sums[NR_THREADS], sum = 0;

	for (size_t i = 0; i < NR_THREADS; i++) {
		sums[i] = i;
		if (pthread_create(&id[i], NULL, thread, &sums[i]))
			abort();
	}
	for (size_t i = 0; i < NR_THREADS; i++) {
		pthread_join(id[i], NULL);
		sum += sums[i];
	}
	return sum;
}

/* Both go on as samples of the parent were. */
static size_t forks(void)
{
	const size_t before = brief(MANY, 0);
	const pid_t child = fork();

	nr_processes = 2;
	if (!child)
		return before + brief(MANY, 1);
	waitpid(child, NULL, 0);
	return before + brief(MANY, 1);
}

static const struct {
	const char *name;
	size_t (*run)(void);
} kinds[] = {{"few", few},         {"steady", steady},   {"bursts", bursts},
	     {"growing", growing}, {"threads", threads}, {"forks", forks}};

int main(int argc, char **argv)
{
	static char text[128]; /* nothing of stdio is on the heap */
	size_t all = 0;

	early();
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].name, argv[1]) == 0)
			all = kinds[i].run();
	late();
	snprintf(text, sizeof(text), "%d %zu %zu %d\n", nr_processes, (size_t)EARLY * 112, all,
		 LATE * 1000);
	return write(1, text, strlen(text)) < 0;
}
/* NOLINTEND(clang-analyzer-unix.Malloc) */
