/* Calls of this program's own functions, measured by the programs in the kernel: each way. Needs the
 * right to load them. */
#include "kit.h"

#include "base/err.h"
#include "bpf/hits.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAMED __attribute__((noinline, noclone, used))

enum { LEAF, SLEEPER, OUTER, DEEP, LEAPER, JUMPER, NR };

static jmp_buf back;
static volatile int sink;

NAMED static void leaf(void)
{
	sink++;
}

NAMED static void sleeper(void)
{
	struct timespec t = {.tv_nsec = 20000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
	sink++;
}

NAMED static void outer(int nr)
{
	for (int i = 0; i < nr; i++)
		sleeper();
	leaf();
	sink++;
}

NAMED static void deep(int nr)
{
	if (nr > 1)
		deep(nr - 1);
	sink++;
}

NAMED static void leaper(void)
{
	sink++;
	longjmp(back, 1);
}

/* Its last act is a jump to leaf, whatever the compiler makes of calls. */
void test_bpf_hits_jumper(void (*to)(void));
#if defined(__x86_64__)
__asm__(".pushsection .text\n.type test_bpf_hits_jumper,@function\n"
	"test_bpf_hits_jumper: push %rbp\npop %rbp\njmp *%rdi\n.popsection");
#else
NAMED void test_bpf_hits_jumper(void (*to)(void))
{
	to();
}
#endif

static void *const function[NR] = {leaf, sleeper, outer, deep, leaper, test_bpf_hits_jumper};

static int find_offsets(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t *offset = arg;

	(void)size;
	for (size_t f = 0; f < NR; f++)
		for (int i = 0; i < info->dlpi_phnum; i++) {
			const ElfW(Phdr) *p = &info->dlpi_phdr[i];
			uint64_t at = (uintptr_t)function[f] - info->dlpi_addr - p->p_vaddr;

			if (p->p_type == PT_LOAD && at < p->p_filesz)
				offset[f] = at + p->p_offset;
		}
	return 1; /* this program alone */
}

struct measured {
	struct hits *h;
	struct hits_place place[NR];
};

static uint32_t find_pmu(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	unsigned type = 0;

	if (f && fscanf(f, "%u", &type) != 1)
		type = 0;
	if (f)
		fclose(f);
	return type;
}

/* Functions of one event; leaf is of another one, too. */
static void begin_process(struct measured *m, uint32_t way, pid_t process)
{
	static const uint64_t rates[2];
	static char path[64];
	uint64_t offset[NR] = {0};
	struct hits_config c = {.nr_events = 2,
				.rates = rates,
				.places = m->place,
				.nr_places = NR,
				.first_way = way,
				.pmu = find_pmu(),
				.process = process,
				.follow = {.has_target = true, .has_children = !process}};
	struct err e = {0};
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)getpid());
	dl_iterate_phdr(find_offsets, offset);
	for (size_t i = 0; i < NR; i++)
		m->place[i] = (struct hits_place){.path = path,
						  .offset = offset[i],
						  .events = i == LEAF ? 3 : 1,
						  .is_timed = true};
	rc = hits_open(&c, &m->h, &e);
	if (rc == -EPERM || rc == -ENOTSUP) {
		print_message("skip: %s\n", e.msg);
		skip();
	}
	assert_int_equal(rc, 0);
	if (hits_way(m->h) != way) {
		print_message("skip: the kernel has no way %u\n", way);
		hits_close(m->h);
		skip();
	}
	assert_int_equal(hits_add_process(m->h, getpid()), 0);
	assert_int_equal(hits_start(m->h, &e), 0);
}

static void begin(struct measured *m, uint32_t way)
{
	begin_process(m, way, 0);
}

static struct hits_sums sums(const struct measured *m, size_t place)
{
	struct hits_sums s;

	hits_read(m->h, place, &s);
	return s;
}

/* Calls that have ended, and were timed. */
static uint64_t ended(const struct measured *m, size_t place)
{
	const volatile uint32_t *bucket = hits_buckets(m->h, place);
	uint64_t nr = 0;

	for (uint32_t i = 0; i < hits_nr_buckets(m->h); i++)
		nr += bucket[i];
	return nr;
}

static uint64_t count(const struct measured *m, size_t event)
{
	uint64_t nr = 0, lost;

	for (uint32_t cpu = 0; cpu < (uint32_t)sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		nr += hits_count(m->h, event, cpu, &lost);
		assert_int_equal(lost, 0);
	}
	return nr;
}

static void *call_leaves(void *nr)
{
	for (int i = 0; i < *(int *)nr; i++)
		leaf();
	return NULL;
}

static void check_counts(uint32_t way)
{
	enum { N = 500, THREADS = 3 };
	struct measured m;
	pthread_t thread[THREADS];
	int nr = N;
	pid_t child;

	begin(&m, way);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, call_leaves, &nr), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	child = fork();
	if (child == 0) {
		call_leaves(&nr);
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(sums(&m, LEAF).calls, (THREADS + 1) * N);
	assert_int_equal(ended(&m, LEAF), (THREADS + 1) * N);
	assert_int_equal(count(&m, 0), (THREADS + 1) * N);
	assert_int_equal(count(&m, 1), (THREADS + 1) * N);
	hits_switch(m.h, 0, false);
	leaf();
	assert_int_equal(sums(&m, LEAF).calls, (THREADS + 1) * N + 1); /* the other event has it */
	assert_int_equal(count(&m, 0), (THREADS + 1) * N);
	hits_switch(m.h, 1, false);
	leaf();
	assert_int_equal(sums(&m, LEAF).calls, (THREADS + 1) * N + 1);
	hits_switch(m.h, 1, true);
	leaf();
	assert_int_equal(count(&m, 1), (THREADS + 1) * N + 2);
	hits_close(m.h);
}

/* What lies between the ends of a call is sums of the same readings: equal to the ns. */
static void check_times(uint32_t way)
{
	struct measured m;
	struct hits_sums o, s, l;
	uint32_t at = 0;

	begin(&m, way);
	outer(2);
	o = sums(&m, OUTER);
	s = sums(&m, SLEEPER);
	l = sums(&m, LEAF);
	assert_int_equal(s.calls, 2);
	assert_true(s.wall_ns >= 40000000 && s.self_ns == s.wall_ns);
	assert_true(s.max_ns >= 20000000 && s.max_ns < s.wall_ns);
	assert_true(s.cpu_ns > 0 && s.cpu_ns < s.wall_ns / 2);
	assert_true(l.calls == 1 && l.cpu_ns <= l.wall_ns);
	assert_int_equal(o.wall_ns, o.self_ns + s.wall_ns + l.wall_ns);
	assert_true(o.self_ns < o.wall_ns - 40000000 + 1);
	assert_true(o.cpu_ns < o.wall_ns / 2);
	/* 20 ms is in 16 to 32, in the fifth of 16 buckets or behind it */
	while (!hits_buckets(m.h, SLEEPER)[at])
		at++;
	assert_true(at >= (24 - hits_bits(m.h)) * 16 + (20000000 >> (24 - 4)));
	hits_close(m.h);
}

static void check_deep(uint32_t way)
{
	enum { N = 1000, MOST = 64 };
	struct measured m;

	begin(&m, way);
	deep(N);
	assert_int_equal(sums(&m, DEEP).calls, N);
	assert_int_equal(ended(&m, DEEP), MOST);
	assert_int_equal(sums(&m, DEEP).deep, N - MOST);
	assert_int_equal(sums(&m, DEEP).left, 0);
	deep(1);
	assert_int_equal(ended(&m, DEEP), MOST + 1);
	hits_close(m.h);
}

/* A call that is left by longjmp has no time, and costs no other call its own. */
NAMED static void leap(int nr)
{
	for (volatile int i = 0; i < nr; i++) {
		if (setjmp(back) == 0)
			leaper();
		leaf();
	}
}

static void check_longjmp(uint32_t way)
{
	enum { N = 100 };
	struct measured m;

	begin(&m, way);
	leap(N);
	outer(0);
	assert_int_equal(sums(&m, LEAPER).calls, N);
	assert_int_equal(sums(&m, LEAPER).left, N);
	assert_int_equal(ended(&m, LEAPER), 0);
	assert_int_equal(sums(&m, LEAF).calls, N + 1);
	assert_int_equal(ended(&m, LEAF), N + 1);
	assert_int_equal(sums(&m, LEAF).self_ns, sums(&m, LEAF).wall_ns);
	assert_int_equal(ended(&m, OUTER), 1);
	hits_close(m.h);
}

/* Both return at the same address. */
static void check_tail_call(uint32_t way)
{
	enum { N = 10 };
	struct measured m;
	struct hits_sums j, l;

	begin(&m, way);
	for (int i = 0; i < N; i++)
		test_bpf_hits_jumper(leaf);
	j = sums(&m, JUMPER);
	l = sums(&m, LEAF);
	assert_int_equal(ended(&m, JUMPER), N);
	assert_int_equal(ended(&m, LEAF), N);
	assert_int_equal(j.left + l.left, 0);
	assert_int_equal(j.wall_ns, j.self_ns + l.wall_ns);
	hits_close(m.h);
}

static void check_leave_out(uint32_t way)
{
	static const bool is_out[NR] = {[SLEEPER] = true};
	struct measured m;

	begin(&m, way);
	outer(1);
	assert_int_equal(hits_leave_out(m.h, is_out), 0);
	outer(1);
	assert_int_equal(sums(&m, SLEEPER).calls, 1);
	assert_int_equal(sums(&m, OUTER).calls, 2);
	assert_int_equal(ended(&m, OUTER), 2);
	assert_int_equal(ended(&m, LEAF), 2);
	hits_close(m.h);
}

#define EACH_WAY(what)                                                                             \
	TEST(what##_by_session)                                                                    \
	{                                                                                          \
		check_##what(HITS_SESSION);                                                        \
	}                                                                                          \
	TEST(what##_by_multi)                                                                      \
	{                                                                                          \
		check_##what(HITS_MULTI);                                                          \
	}                                                                                          \
	TEST(what##_by_perf)                                                                       \
	{                                                                                          \
		check_##what(HITS_PERF);                                                           \
	}

EACH_WAY(counts)
EACH_WAY(times)
EACH_WAY(deep)
EACH_WAY(longjmp)
EACH_WAY(tail_call)
EACH_WAY(leave_out)

TEST(price)
{
	struct measured m;
	struct hits_price p;

	begin_process(&m, HITS_SESSION, getpid());
	p = hits_price(m.h);
	assert_true(p.cost_ns > p.inside_ns && p.inside_ns > 0);
	hits_set_price(m.h, LEAF, (struct hits_price){1000, 100});
	hits_set_price(m.h, OUTER, (struct hits_price){5000, 500});
	outer(0);
	assert_int_equal(sums(&m, LEAF).cost_ns, 100);
	assert_int_equal(sums(&m, OUTER).cost_ns, 500 + 1000);
	hits_close(m.h);
}
