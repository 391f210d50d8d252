/*
 * faults NUMBER STACKS [DEPTH]: causes NUMBER page faults of its own memory, one for each page,
 * from up to STACKS different stacks, in touch_page; or in dive, DEPTH calls below.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define KEEP(x) __asm__ volatile("" : "+r"(x)::"memory")

static int depth;

enum { PAGE = 4096, PER_PAUSE = 16, LEVELS = 20 };

__attribute__((noinline)) int dive(volatile char *page, int level)
{
	int x;

	if (level)
		x = dive(page, level - 1);
	else
		x = page[0] = 1;
	KEEP(x);
	return x;
}

__attribute__((noinline)) int touch_page(volatile char *page)
{
	int x = page[0] = 1;

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
	int x = !level    ? (depth ? dive(page, depth) : touch_page(page))
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

	depth = argc == 4 ? atoi(argv[3]) : 0;
	if (!nr || !stacks)
		return 2;
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
