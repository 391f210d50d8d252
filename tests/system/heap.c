/*
 * A program whose heap is known. heap WHAT [N]: see the table at the end; prints what a test
 * compares. It does what a checker warns of: handlers that allocate, blocks that are lost or have
 * no bytes, vfork. NOLINTBEGIN(clang-analyzer-*,cert-err34-c,bugprone-signal-handler,cert-sig30-c)
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cpuperf/heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static void *volatile keep;
static int count;

/* --- the largest allocation of a path */

NOINLINE static void allocate_three(size_t largest)
{
	const size_t bytes[] = {1, largest, 7};

	for (int i = 0; i < 3; i++) /* one path */
		keep = malloc(bytes[i]);
}

NOINLINE static void allocate_two(void)
{
	keep = malloc(50);
	keep = malloc(20);
}

static void largest(void)
{
	allocate_three((size_t)count);
	allocate_two();
	__asm__ volatile("");
}

/* --- dumps */

NOINLINE static void before_dumps(void)
{
	for (int i = 0; i < 10; i++)
		keep = malloc(1000);
}

NOINLINE static void between_dumps(void)
{
	for (int i = 0; i < count; i++)
		keep = malloc(3000);
}

NOINLINE static void after_dumps(void)
{
	keep = malloc(50000);
}

/* Prints what the dumps returned. */
static void dumps(void)
{
	static char text[64]; /* standard output has no buffer on the heap */
	void *freed = malloc(70000);
	int first, second;

	before_dumps();
	first = cpuperf_heap_dump();
	between_dumps();
	free(freed);
	second = cpuperf_heap_dump();
	after_dumps();
	snprintf(text, sizeof(text), "dumps %d %d\n", first, second);
	(void)!write(1, text, strlen(text));
}

static void many_dumps(void)
{
	int failed = 0;

	for (int i = 0; i < count; i++) {
		failed |= cpuperf_heap_dump();
		keep = malloc(3000);
	}
	_exit(failed);
}

/* --- the seed's slides */

/* A report each time: the block of the moment is what is live. */
static void reports(void)
{
	for (int n = 1; n <= count; n++) {
		void *x = malloc((size_t)n);

		(void)cpuperf_heap_dump();
		free(x);
	}
}

static void ten_of_one(void)
{
	for (int n = 1; n <= count; n++)
		keep = malloc(1);
}

static void ten_growing(void)
{
	for (int n = 1; n <= count; n++)
		keep = malloc((size_t)n);
}

static void ten_freed(void)
{
	for (int n = 1; n <= count; n++) {
		keep = malloc((size_t)n);
		free(keep);
	}
}

NOINLINE static void bar(int i)
{
	keep = malloc((size_t)i);
}

NOINLINE static void foo(void)
{
	keep = malloc(1);
	bar(1);
	__asm__ volatile("");
}

static void tree(void)
{
	foo();
	bar(2);
	__asm__ volatile("");
}

/* --- call paths: each allocation of 1000 + n bytes is preceded by a line with its addresses, by
 * the unwinder of libgcc */

static int number = 1000;

NOINLINE static void allocate(void)
{
	void *at[256];
	int nr = backtrace(at, 256);

	printf("%d", number);
	for (int i = 1; i < nr; i++)
		printf(" %lx", (unsigned long)at[i]);
	printf("\n");
	keep = malloc((size_t)number++);
	__asm__ volatile("");
}

NOINLINE static int by_pointer(int n)
{
	char *volatile room = __builtin_alloca((size_t)n * 16);

	room[0] = 1;
	allocate();
	return room[0];
}

NOINLINE static int large(int n)
{
	char volatile room[20000];

	room[n] = 1;
	by_pointer(n + 3);
	return room[n];
}

NOINLINE static int recurse(int n)
{
	int result = n ? recurse(n - 1) : large(5);

	__asm__ volatile("");
	return result + 1;
}

static int compare(const void *a, const void *b)
{
	allocate();
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int s)
{
	(void)s;
	allocate();
}

static void *in_thread(void *arg)
{
	recurse(3);
	return arg;
}

static void at_end(void)
{
	allocate();
}

static void paths(void)
{
	int two[] = {2, 1};
	pthread_t t;

	setvbuf(stdout, NULL, _IOLBF, 0);
	backtrace((void *[1]){NULL}, 1); /* loads libgcc */
	allocate();
	recurse(0);
	recurse(50);
	recurse(2);
	qsort(two, 2, sizeof(*two), compare);
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	pthread_create(&t, NULL, in_thread, NULL);
	pthread_join(t, NULL);
	atexit(at_end);
}

NOINLINE static int fall(int n)
{
	int result;

	if (!n) {
		keep = malloc(7777);
		return 1;
	}
	result = fall(n - 1);
	__asm__ volatile("");
	return result + 1;
}

static void deep(void)
{
	fall(count);
}

/* --- functions of the allocator */

static void kinds(void)
{
	void *p = NULL, *q;

	keep = calloc(3, 7); /* 21 */
	keep = memalign(64, 100);
	if (posix_memalign(&p, 128, 200))
		abort();
	q = aligned_alloc(64, 320);
	keep = valloc(400);
	q = realloc(q, 640);
	q = reallocarray(q, 7, 100); /* 700 */
	free(p);
	free(NULL);
	p = realloc(NULL, 50);
	keep = realloc(p, 0);
	errno = 5;
	p = malloc((size_t)1 << 62);
	printf("%p %d %zu\n", p, errno == ENOMEM, malloc_usable_size(q));
}

/* The first allocation connects the agent. */
static void keeps_errno(void)
{
	errno = 77;
	keep = malloc(1);
	free(keep);
	keep = realloc(malloc(5), 9);
	free(keep);
	fprintf(stderr, "%d\n", errno);
}

/* --- processes */

static void forks(void)
{
	pid_t child;

	keep = malloc(1000);
	child = fork();
	if (!child) {
		free(keep);
		keep = malloc(2000);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	keep = malloc(3000);
	child = vfork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	keep = malloc(4000);
}

static void execs(void)
{
	keep = malloc(1000);
	execl("/proc/self/exe", "heap", "ones", "5", (char *)NULL);
}

static void killed(void)
{
	keep = malloc(1234);
	raise(SIGKILL);
}

static void raw_end(void)
{
	keep = malloc(1234);
	_exit(3);
}

/* --- threads */

enum { NR_SLOTS = 1 << 12 };
static void *slots[NR_SLOTS];

/* Exchanges blocks with the other threads, so that each frees what others allocated. */
static void *churn(void *arg)
{
	uint64_t x = (uint64_t)(uintptr_t)arg * 0x9e3779b97f4a7c15 + 1;

	for (int i = 0; i < count; i++) {
		void *mine, *other;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		mine = malloc(x % 500 + 1);
		other =
		    __atomic_exchange_n(&slots[x >> 20 & (NR_SLOTS - 1)], mine, __ATOMIC_ACQ_REL);
		if (x & 1 << 19)
			other = realloc(other, x % 700 + 1);
		free(other);
	}
	return NULL;
}

static void many(void)
{
	pthread_t t[8];

	for (size_t i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, churn, (void *)(i + 1));
	for (size_t i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	for (size_t i = 0; i < NR_SLOTS; i++)
		free(slots[i]);
}

static void *one_each(void *arg)
{
	free(malloc(10));
	return arg;
}

static void short_threads(void)
{
	pthread_t t;

	for (int i = 0; i < count; i++) {
		pthread_create(&t, NULL, one_each, NULL);
		pthread_join(t, NULL);
	}
}

/* A thread that only frees. */
static void *free_all(void *arg)
{
	for (int i = 0; i < count; i++)
		free(slots[i]);
	return arg;
}

static void consumer(void)
{
	pthread_t t;

	for (int i = 0; i < count; i++)
		slots[i] = malloc(70);
	pthread_create(&t, NULL, free_all, NULL);
	pthread_join(t, NULL);
}

#define AUTODISARM (int)(1u << 31) /* SS_AUTODISARM */

/* A handler on a stack of its own, which is gone afterwards. */
static void other_stack(void)
{
	const size_t bytes = 64 << 10;
	stack_t old = {.ss_flags = SS_DISABLE};
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	setvbuf(stdout, NULL, _IOLBF, 0);
	backtrace((void *[1]){NULL}, 1);
	sigaction(SIGUSR1, &a, NULL);
	for (int i = 0; i < count; i++) {
		void *at =
		    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		stack_t own = {.ss_sp = at, .ss_size = bytes, .ss_flags = i % 2 ? AUTODISARM : 0};

		sigaltstack(&own, NULL);
		raise(SIGUSR1);
		sigaltstack(&old, NULL);
		munmap(at, bytes);
		recurse(i);
	}
}

static volatile sig_atomic_t nr_signals;

static void allocate_in_handler(int s)
{
	(void)s;
	nr_signals++;
	free(malloc(33)); /* at a time when the program does not allocate, but the agent may */
}

/* Handlers allocate while the main program only calls functions that the agent stands before. */
static void signals(void)
{
	struct sigaction a = {.sa_handler = allocate_in_handler};
	struct itimerspec every = {{0, 100000}, {0, 100000}};
	timer_t timer;

	sigaction(SIGALRM, &a, NULL);
	timer_create(CLOCK_MONOTONIC, NULL, &timer);
	timer_settime(timer, 0, &every, NULL);
	while (nr_signals < count)
		__asm__ volatile("");
	timer_delete(timer);
}

/* --- libraries: heap load N LIBRARY... */

static char **libraries;

static void load(void)
{
	for (int i = 0; i < count; i++)
		for (char **l = libraries; *l; l++) {
			void *h = dlopen(*l, RTLD_NOW);
			void (*fn)(void);

			if (!h)
				abort();
			*(void **)&fn = dlsym(h, "library_allocate");
			fn();
			dlclose(h);
		}
}

/* --- memory */

static void exhausted(void)
{
	int nr = 0;

	while (malloc(100000))
		nr++;
	printf("%d\n", nr > 10);
}

/* Allocations of random sizes; prints their sum, and of those from `a` and `b`. */
NOINLINE static void a(size_t n)
{
	keep = malloc(n);
	__asm__ volatile("");
}

NOINLINE static void b(size_t n)
{
	keep = malloc(n);
	__asm__ volatile("# not as a");
}

static void shares(void)
{
	uint64_t x = 88172645463325252, of_a = 0, of_b = 0;

	for (int i = 0; i < count; i++) {
		size_t n;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		n = x >> 40 & 1 ? x % 64 + 1 : x % 20000 + 1;
		if (x >> 50 & 3) {
			of_a += n;
			a(n);
		} else {
			of_b += n;
			b(n);
		}
		if (x >> 52 & 1)
			free(keep);
	}
	printf("%lu %lu\n", of_a, of_b);
}

/* Blocks of `a` that come and go beside 1.25 MB of others, and one of `b` at a time. */
static void plateau(void)
{
	void *p[1000];

	for (int i = 0; i < 1000; i++)
		p[i] = (a(1250), keep);
	for (int i = 0; i < count; i++) {
		free(p[i % 1000]);
		p[i % 1000] = (a(1250), keep);
		if (i % 5 == 0)
			free((b(600), keep));
	}
	for (int i = 0; i < 1000; i++)
		free(p[i]);
}

/* Of small blocks, 20 times; once they are a tenth more. */
static void waves(void)
{
	static void *p[22000];

	for (int k = 0; k < 20; k++) {
		int nr = k == 10 ? 22000 : 20000;

		for (int i = 0; i < nr; i++)
			p[i] = (i % 4 ? a(64) : b(40), keep);
		for (int i = 0; i < nr; i++)
			free(p[i]);
	}
}

/* A child without exec has a peak of its own. */
static void forked(void)
{
	if (fork() == 0) {
		plateau();
		_exit(0);
	}
	wait(NULL);
}

/* The peak is in the middle: of 3 MB, 2 of them by `a`. */
static void peak(void)
{
	void *p[300];

	for (int i = 0; i < 200; i++)
		a(10000), p[i] = keep;
	for (int i = 200; i < 300; i++)
		b(10000), p[i] = keep;
	for (int i = 0; i < 250; i++)
		free(p[i]);
	for (int i = 0; i < 100; i++)
		b(10000);
}

/* --- paths whose peaks are at other times than the process's */

/* One path for each caller: so many blocks at a time. */
NOINLINE static void hold(int nr)
{
	void *volatile p[10];

	for (int i = 0; i < nr; i++)
		p[i] = malloc(1000);
	for (int i = 0; i < nr; i++)
		free(p[i]);
}

NOINLINE static void hold_ten(void)
{
	hold(10);
	count++;
}

NOINLINE static void hold_five(void)
{
	hold(5);
	count++;
}

/* A block that moves is there once. */
NOINLINE static void hold_moved(void)
{
	void *p = NULL;

	for (size_t bytes = 100; bytes <= 7000; bytes += 100) /* one path */
		keep = p = realloc(p, bytes);
	free(p);
}

static void *free_them(void *blocks)
{
	void **p = blocks;

	for (int i = 0; i < 3; i++)
		free(p[i]);
	return NULL;
}

NOINLINE static void hold_for_others(void)
{
	pthread_t thread;
	void *p[3];

	for (volatile int i = 0; i < 3; i++) /* at one place: the loop is not unrolled */
		keep = p[i] = malloc(1000);
	if (pthread_create(&thread, NULL, free_them, p) == 0)
		pthread_join(thread, NULL);
}

/* Two places of one path of functions. */
NOINLINE static void hold_at_two(void)
{
	void *a, *b;

	keep = a = malloc(300);
	keep = b = malloc(400);
	free(a);
	free(b);
}

static void path_peaks(void)
{
	hold_ten();
	hold_five();
	hold_five();
	hold_moved();
	hold_for_others();
	hold_for_others();
	hold_at_two();
	count++;
}

/* --- functions that hold more and less */

#define HOLDER(name, bytes)                                                                        \
	NOINLINE static void name(void)                                                            \
	{                                                                                          \
		keep = malloc(bytes);                                                              \
		count++;                                                                           \
	}
HOLDER(holds_most, 100000)
HOLDER(holds_950, 950)
HOLDER(holds_700, 700)
HOLDER(holds_200, 200)
HOLDER(holds_9, 9)
HOLDER(holds_8, 8)
HOLDER(holds_7, 7)

static void bands(void)
{
	holds_most();
	holds_950();
	holds_700();
	holds_200();
	holds_9();
	holds_8();
	holds_7();
}

/* --- pages that are touched, and those that are not */

static size_t whole_pages(const void *p, size_t bytes)
{
	uintptr_t begin = ((uintptr_t)p + 4095) / 4096, end = ((uintptr_t)p + bytes) / 4096;

	return end > begin ? (end - begin) * 4096 : 0;
}

static void keep_pages_small(void)
{
	(void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	(void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
	(void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

/* Prints what a test cannot know: whole pages of what realloc copied, and of what it moved. */
static void untouched(void)
{
	size_t copied, moved;
	char *p;

	keep_pages_small();
	keep = malloc(80000);
	copied = whole_pages(keep, 80000);
	p = malloc(16);
	keep = realloc(keep, 120000); /* it cannot grow where it is */
	memset(keep, 1, 120000);
	free(keep);
	keep = malloc(110000); /* there again */
	free(keep);
	free(p);
	keep = malloc(1 << 20);
	keep = realloc(keep, 9 << 20); /* by mremap */
	moved = whole_pages(keep, 9 << 20);
	free(keep);
	keep = malloc(3000);
	free(keep);
	keep = p = aligned_alloc(4096, 256 * 4096);
	for (int i = 0; i < 128; i++)
		p[i * 4096] = 1;
	free(keep);
	printf("%zu %zu\n", copied, moved);
}

/* --- what is written of blocks, for the agent's pattern: prints "SIZE BYTES" of those not written
 */

static void expect(size_t size, size_t bytes)
{
	printf("%zu %zu\n", size, bytes);
}

/* Words of a block of which so many bytes at its start have contents. */
static size_t words_left(size_t size, size_t written)
{
	return size / 8 * 8 - (written + 7) / 8 * 8;
}

static void grow_written(size_t from, size_t written, size_t to, bool is_in_place)
{
	char *p = malloc(from), *next = is_in_place ? NULL : malloc(16);
	size_t usable = malloc_usable_size(p);

	memset(p, 7, written);
	expect(from, words_left(from, written));
	p = realloc(p, to);
	expect(to, words_left(to, usable));
	for (size_t i = 0; i < written; i++)
		if (p[i] != 7)
			abort();
	keep = p;
	free(keep);
	free(next);
}

static void pattern(void)
{
	char *p;

	keep_pages_small();
	keep = malloc(1001);
	memset(keep, 1, 300);
	free(keep);
	expect(1001, words_left(1001, 300));
	keep = malloc(1002); /* there again */
	free(keep);
	expect(1002, words_left(1002, 0));
	keep = calloc(1, 1003);
	free(keep);
	expect(1003, 0);
	keep = malloc(13);
	free(keep);
	expect(13, 8);
	keep = malloc(7);
	free(keep);
	expect(7, 0);
	keep = p = aligned_alloc(4096, 8192);
	p[5000] = 1;
	free(keep);
	expect(8192, 8192 - 8);
	if (posix_memalign((void **)&keep, 64, 2048))
		abort();
	memset(keep, 0, 64); /* also zeroes are written */
	free(keep);
	expect(2048, 2048 - 64);
	grow_written(20000, 800, 50000, true); /* at the end of the heap */
	grow_written(21000, 1, 51000, false);
	grow_written(200000, 100, 900000, false); /* by mremap */
	keep = malloc(5000);
	p = malloc(6000);
	memcpy(p, keep, 5000); /* what nobody wrote: it is written there */
	free(keep);
	keep = p;
	free(keep);
	expect(5000, 5000);
	expect(6000, 1000);
	keep = malloc(3000);
	keep = realloc(keep, 1100);
	free(keep);
	expect(3000, 3000);
	expect(1100, 0);
	keep = p = calloc(1, 1200);
	keep = realloc(keep, 4400);
	expect(1200, 0);
	expect(4400, words_left(4400, 1208));
	free(keep);
	keep = p = malloc(40 << 20); /* too large */
	p[1 << 20] = 1;
	expect(40 << 20, 0);
	keep = p = realloc(keep, 41 << 20); /* by mremap: seen when it is freed */
	expect(41 << 20, whole_pages(p, 41 << 20) - 4096);
	free(keep);
}

NOINLINE static char *quarter(void)
{
	char *p = malloc(10000);

	memset(p, 1, 2500);
	return p;
}

NOINLINE static void live_pattern(char *kept[1000])
{
	for (int i = 0; i < 1000; i++) {
		kept[i] = malloc(48);
		memset(kept[i], 1, 16);
	}
}

NOINLINE static char *large_pattern(void)
{
	char *p = malloc(2 << 20);

	memset(p, 1, 600 << 10);
	return p;
}

/* Live at the end of an iteration, and then freed. */
static void patterns(void)
{
	char *p = quarter(), *q = large_pattern(), *small[1000];

	live_pattern(small);
	puts("x");
	fflush(stdout);
	sleep(2);
	free(p);
	free(q);
	for (int i = 0; i < 1000; i++)
		free(small[i]);
	sleep(1);
}

NOINLINE static char *half(void)
{
	char *p = aligned_alloc(4096, 256 * 4096);

	for (int i = 0; i < 128; i++)
		p[i * 4096] = 1;
	return p;
}

/* Rss, in KiB, of the heap and of the mappings of p and q. */
static unsigned long resident_set(const char *p, const char *q)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long begin = 0, end = 0, kib, sum = 0;
	bool is_ours = false;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			is_ours = strstr(line, "[heap]") ||
				  ((uintptr_t)p >= begin && (uintptr_t)p < end) ||
				  ((uintptr_t)q >= begin && (uintptr_t)q < end);
		else if (is_ours && sscanf(line, "Rss: %lu", &kib) == 1)
			sum += kib;
	}
	fclose(f);
	return sum;
}

/* Half of a large block is touched, all of another, and every second one of small ones is freed. */
static void resident(void)
{
	char *p, *q, *brief = NULL;

	keep_pages_small();
	p = half();
	q = malloc(20 << 20);
	memset(q, 1, 20 << 20);
	for (int i = 0; i < 100000; i++) {
		keep = malloc(100);
		memset(keep, 1, 100);
		if (i & 1)
			free(brief);
		brief = keep;
	}
	printf("%lu\n", resident_set(p, q));
	fflush(stdout);
	sleep(2);
	free(p);
	sleep(1);
}

/* --- pages of what is there at the end, of which there are several kinds */

NOINLINE static void freed_half(void)
{
	free(half());
	count++;
}

static void paged(void)
{
	const int how = count;
	pid_t child = how == 3 ? fork() : 1;

	freed_half();
	keep = half();
	if (child == 0 || how == 1)
		_exit(0);
	if (how == 2)
		quick_exit(0);
	if (how == 3)
		waitpid(child, NULL, 0);
	if (how == 4)
		kill(getpid(), SIGKILL);
	if (how == 5) { /* until it is told to go on */
		printf("%d\n", (int)getpid());
		fflush(stdout);
		(void)getchar();
	}
}

/* --- a program that forbids itself all system calls but those of malloc, before it allocates */

/* As a program without the C library calls it: nobody's wrapper sees it. */
static long raw_prctl(long option, long a, const void *b)
{
#if defined(__x86_64__)
	long rc = SYS_prctl;

	__asm__ volatile("syscall"
			 : "+a"(rc)
			 : "D"(option), "S"(a), "d"(b)
			 : "rcx", "r11", "memory");
	return rc;
#elif defined(__aarch64__)
	register long nr __asm__("x8") = SYS_prctl, rc __asm__("x0") = option;
	register long second __asm__("x1") = a, third __asm__("x2") = (long)b;

	__asm__ volatile("svc #0" : "+r"(rc) : "r"(nr), "r"(second), "r"(third) : "memory");
	return rc;
#else
	return prctl((int)option, a, b, 0, 0);
#endif
}

/* is_raw: the agent does not see it, and asks as always by rt_sigprocmask what may be read. */
static void seal(bool is_raw)
{
	const int permitted[] = {
	    SYS_brk,       SYS_mmap,       SYS_munmap,   SYS_mremap,
	    SYS_getrandom, SYS_exit_group, SYS_mprotect, is_raw ? SYS_rt_sigprocmask : SYS_brk};
	struct sock_filter code[2 * sizeof(permitted) / sizeof(permitted[0]) + 2];
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	struct sock_filter *at = code;

	*at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					     offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(permitted) / sizeof(permitted[0]); i++) {
		*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, permitted[i], 0, 1);
		*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    (is_raw ? raw_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
		    : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)))
		_exit(77);
}

static void allocate_sealed(bool is_raw)
{
	seal(is_raw);
	for (int n = 1; n <= count; n++)
		keep = malloc((size_t)n);
	_exit(0);
}

static void sealed_raw(void)
{
	allocate_sealed(true);
}

static void sealed(void)
{
	int status = 0;
	pid_t child = fork();

	if (child > 0 && (waitpid(child, &status, 0) != child || status))
		_exit(1);
	allocate_sealed(false);
}

/* --- how long blocks live */

static __attribute__((noinline)) void lives_briefly(void)
{
	for (int i = 0; i < 10000; i++) {
		keep = malloc(100);
		free(keep);
	}
}

static __attribute__((noinline)) void lives_for(unsigned ms, void **p)
{
	const struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&time, NULL);
	for (int i = 0; i < 10; i++)
		free(p[i]);
}

static __attribute__((noinline)) void lives_20_ms(void **p)
{
	for (int i = 0; i < 10; i++)
		p[i] = malloc(1000);
}

static __attribute__((noinline)) void lives_1_s(void **p)
{
	for (int i = 0; i < 10; i++)
		p[i] = malloc(2000);
}

static void lives(void)
{
	void *p[10];

	lives_briefly();
	lives_20_ms(p);
	lives_for(20, p);
	lives_1_s(p);
	lives_for(1001, p);
	lives_1_s(p);
}

/* --- what nothing points to */

#define POINTER(name) static void *volatile name

struct link {
	struct link *volatile next;
	char bytes[92];
};

POINTER(global);
static __thread void *volatile own_of_thread;
static struct link *volatile chain, *volatile cycle;
static char *volatile interior;
static pthread_barrier_t is_there;

static __attribute__((noinline)) void reach_global(void)
{
	global = malloc(1000);
}

static __attribute__((noinline)) void reach_interior(void)
{
	char *all = malloc(2000);

	interior = all + 1000;
}

static __attribute__((noinline)) void reach_chain(void)
{
	for (int i = 0; i < 50; i++) {
		struct link *l = malloc(sizeof(*l));

		l->next = chain;
		chain = l;
	}
}

static __attribute__((noinline)) void reach_tls(void)
{
	own_of_thread = malloc(3000);
}

/* A word of the C library's list of free memory is at the end of the block before. */
static __attribute__((noinline)) void lost_direct(void)
{
	for (int i = 0; i < 20; i++) {
		char *volatile p = malloc(5000 + 8);

		p = NULL;
		(void)p;
	}
}

static __attribute__((noinline)) void lost_chain(void)
{
	struct link *volatile head = NULL;

	for (int i = 0; i < 10; i++) {
		struct link *l = malloc(sizeof(*l));

		l->next = head;
		head = l;
	}
	head = NULL;
}

static __attribute__((noinline)) void lost_cycle(void)
{
	cycle = malloc(sizeof(*cycle));
	cycle->next = malloc(sizeof(*cycle));
	cycle->next->next = cycle;
	cycle = NULL;
}

static __attribute__((noinline)) void lost_large(void)
{
	global = malloc(1 << 20);
	*(char *)global = 1;
	global = NULL;
}

static __attribute__((noinline)) void *reach_stack(void)
{
	void *p = malloc(4000);

	__asm__ volatile("" : "+r"(p)); /* no tail call */
	return p;
}

/* What a thread allocates last is lost as well, though a recorder may remember it. */
static __attribute__((noinline)) void lost_last(void)
{
	void *volatile p = malloc(6000);

	p = NULL;
	(void)p;
}

/* What dead frames held. */
static __attribute__((noinline)) void forget_stack(void)
{
	char bytes[32 << 10];

	memset(bytes, 0, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

static void *wait_with_pointer(void *arg)
{
	void *volatile p = reach_stack();

	own_of_thread = malloc(600);
	lost_last();
	forget_stack(); /* the search may come as soon as all are there */
	pthread_barrier_wait(&is_there);
	for (;;)
		pause();
	return p ? arg : NULL;
}

/* Nothing else has it: the C library's functions would store what they preserve. */
static __attribute__((noinline)) void *reach_register(void)
{
	void *p = malloc(7000);

	__asm__ volatile("" : "+r"(p)); /* no tail call */
	return p;
}

static void *wait_with_register(void *arg)
{
	void *p = reach_register();

	pthread_barrier_wait(&is_there);
	forget_stack(); /* where that stored it */
#if defined(__x86_64__)
	for (;;) {
		long call = SYS_pause;

		__asm__ volatile("syscall" : "+a"(call), "+r"(p) : : "rcx", "r11", "memory");
	}
#else
	for (;;)
		pause();
#endif
	return p ? arg : NULL;
}

static __attribute__((noinline)) void allocate_reached(void)
{
	pthread_t thread;

	pthread_barrier_init(&is_there, NULL, 3);
	if (pthread_create(&thread, NULL, wait_with_pointer, NULL) ||
	    pthread_create(&thread, NULL, wait_with_register, NULL))
		exit(1);
	pthread_barrier_wait(&is_there);
	reach_global();
	reach_interior();
	reach_chain();
	reach_tls();
}

static __attribute__((noinline)) void allocate_lost(void)
{
	lost_direct();
	lost_chain();
	lost_cycle();
	lost_large();
}

/* count: how it ends. */
static void reach(void)
{
	allocate_reached();
	forget_stack();
	allocate_lost();
	forget_stack();
	reach_global(); /* the one before is lost */
	forget_stack();
	if (count == 1)
		_exit(0);
	if (count == 2)
		quick_exit(0);
	if (count == 3)
		syscall(SYS_exit_group, 0);
	if (count == 4)
		printf("dumped %d\n", cpuperf_heap_dump());
	if (count == 4)
		lost_direct();
	if (count == 4)
		syscall(SYS_exit_group, 0);
	if (count == 5) {
		pid_t child = vfork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

struct item {
	struct item *next;
	char more[88];
};

static struct item **volatile items; /* in a block that is not small */

static __attribute__((noinline)) struct item *kept_item(void)
{
	struct item *i = calloc(1, sizeof(*i));

	__asm__ volatile("" : "+r"(i)); /* no tail call */
	return i;
}

/* Not the same code, which the compiler would have once. */
static __attribute__((noinline)) struct item *lost_item(void)
{
	struct item *i = calloc(sizeof(*i), 1);

	__asm__ volatile("" : "+r"(i));
	return i;
}

static void shuffle(struct item **item, size_t nr)
{
	uint64_t x = 88172645463325252;

	for (size_t i = nr; i > 1; i--) {
		struct item *last = item[i - 1];

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		item[i - 1] = item[x % i];
		item[x % i] = last;
	}
}

static void link_items(struct item **item, size_t nr)
{
	for (size_t i = 0; i + 1 < nr; i++)
		item[i]->next = item[i + 1];
}

/* Two lists of count items in memory side by side, each in a random order: one is lost. */
static __attribute__((noinline)) void link_both(void)
{
	const size_t nr = (size_t)count, bytes = 2 * nr * sizeof(struct item *);
	struct item **item =
	    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (item == MAP_FAILED)
		exit(1);
	for (size_t i = 0; i < nr; i++) {
		item[i] = kept_item();
		item[nr + i] = lost_item();
	}
	shuffle(item, nr);
	shuffle(item + nr, nr);
	link_items(item, nr);
	link_items(item + nr, nr);
	items = calloc(1, 64 << 10);
	if (items)
		items[4000] = item[0];
	munmap(item, bytes);
}

static void scattered(void)
{
	link_both();
	forget_stack();
}

static const struct {
	const char *name;
	void (*run)(void);
} table[] = {
    {"ones", ten_of_one},     {"growing", ten_growing},
    {"freed", ten_freed},     {"tree", tree},
    {"paths", paths},         {"deep", deep},
    {"kinds", kinds},         {"forks", forks},
    {"errno", keeps_errno},   {"execs", execs},
    {"killed", killed},       {"raw", raw_end},
    {"many", many},           {"threads", short_threads},
    {"signals", signals},     {"load", load},
    {"exhausted", exhausted}, {"shares", shares},
    {"consumer", consumer},   {"stacks", other_stack},
    {"peak", peak},           {"plateau", plateau},
    {"waves", waves},         {"forked", forked},
    {"untouched", untouched}, {"pattern", pattern},
    {"patterns", patterns},   {"resident", resident},
    {"largest", largest},     {"sealed", sealed},
    {"dumps", dumps},         {"many_dumps", many_dumps},
    {"reports", reports},     {"lives", lives},
    {"reach", reach},         {"scattered", scattered},
    {"bands", bands},         {"path_peaks", path_peaks},
    {"paged", paged},         {"sealed_raw", sealed_raw},
};

int main(int argc, char **argv)
{
	count = argc > 2 ? atoi(argv[2]) : 10;
	libraries = argc > 3 ? argv + 3 : NULL;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (argc > 1 && strcmp(table[i].name, argv[1]) == 0) {
			table[i].run();
			return 0;
		}
	return 2;
}
/* NOLINTEND(clang-analyzer-*,cert-err34-c,bugprone-signal-handler,cert-sig30-c) */
