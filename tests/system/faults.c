/*
 * faults NUMBER STACKS [DEPTH]: causes NUMBER page faults of its own memory, one for each page,
 * from up to STACKS different stacks, in touch_page; or in dive, DEPTH calls below.
 * faults NUMBER STACKS doze: as many short waits instead, in doze. Prints how long these took, and
 * how often the task was blocked in them: not if its timer expires while it falls asleep.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#define KEEP(x) __asm__ volatile("" : "+r"(x)::"memory")

static int depth;
static bool dozes, works;
static uint64_t dozed_ns, dozed_switches;

enum { PAGE = 4096, PER_PAUSE = 16, LEVELS = 20 };

__attribute__((noinline)) int dive(volatile char *page, int level)
{
	int x = 1;

	if (level)
		x = dive(page, level - 1);
	else
		page[0] = 1;
	KEEP(x);
	return x;
}

__attribute__((noinline)) int touch_page(volatile char *page)
{
	int x = 1;

	page[0] = 1;
	KEEP(x);
	return x;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t switches(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (uint64_t)r.ru_nvcsw;
}

__attribute__((noinline)) void spin(void)
{
	for (int i = 0; i < 1000000; i++)
		KEEP(i);
}

__attribute__((noinline)) int doze(void)
{
	const struct timespec t = {.tv_nsec = 20000};
	uint64_t start, before;
	int x;

	if (works)
		spin();
	start = now();
	before = switches();
	x = nanosleep(&t, NULL);
	dozed_switches += switches() - before;
	dozed_ns += now() - start;
	KEEP(x);
	return x;
}

static int descend(volatile char *page, unsigned long way, int level);

__attribute__((noinline)) int left(volatile char *page, unsigned long way, int level)
{
	int x = descend(page, way, level);

	KEEP(x);
	return x;
}

__attribute__((noinline)) int right(volatile char *page, unsigned long way, int level)
{
	int x = descend(page, way, level);

	KEEP(x);
	return x;
}

/* The bits of the way decide who calls. */
static int descend(volatile char *page, unsigned long way, int level)
{
	int x = !level    ? (dozes   ? doze()
			     : depth ? dive(page, depth)
				     : touch_page(page))
		: way & 1 ? left(page, way >> 1, level - 1)
			  : right(page, way >> 1, level - 1);

	KEEP(x);
	return x;
}

int main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = 500000};
	unsigned long nr = argc >= 3 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long stacks = argc >= 3 ? strtoul(argv[2], NULL, 10) : 0;
	char *pages;

	works = argc == 4 && strcmp(argv[3], "work") == 0;
	dozes = works || (argc == 4 && strcmp(argv[3], "doze") == 0);
	depth = argc == 4 && !dozes ? (int)strtol(argv[3], NULL, 10) : 0;
	if (!nr || !stacks)
		return 2;
	if (dozes) {
		prctl(PR_SET_TIMERSLACK, 1);
		for (unsigned long i = 0; i < nr; i++)
			descend(NULL, i % stacks, LEVELS);
		printf("dozed_ns %llu switches %llu\n", (unsigned long long)dozed_ns,
		       (unsigned long long)dozed_switches);
		return 0;
	}
	pages = mmap(NULL, nr * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return 1;
	madvise(pages, nr * PAGE, MADV_NOHUGEPAGE); /* a fault for each page */
	for (unsigned long i = 0; i < nr; i++) {
		/* the innermost calls differ: a callchain has no room for the others */
		descend(pages + i * PAGE, i % stacks << (depth ? 8 : 0), LEVELS);
		if (i % PER_PAUSE == 0) /* more at a time would be throttled */
			nanosleep(&pause, NULL);
	}
	return 0;
}
