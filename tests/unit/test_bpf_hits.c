/* Calls of this program's own functions, measured by the programs in the kernel: each way. Needs
 * the right to load them. */
#include "inject.h"
#include "kit.h"

#include "base/err.h"
#include "bpf/hits.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NAMED __attribute__((noinline, used))

enum { LEAF, SLEEPER, OUTER, DEEP, LEAPER, JUMPER, TELLER, UNTIMED, SWAPPER, NR };
/* Of the way that takes longest to close: a tenth of a second for each. */
enum { NR_BY_PERF = OUTER + 1 };

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

/* Where they return to: into this program, unless the kernel has replaced the address. */
NAMED static void *teller(void)
{
	sink++;
	return __builtin_return_address(0);
}

NAMED static void *untimed(void)
{
	sink += 2;
	return __builtin_return_address(0);
}

static ucontext_t first, second, above;

/* Calls leaf when the task is back on this stack. */
NAMED static int swapper(ucontext_t *me, ucontext_t *other, int n)
{
	swapcontext(me, other);
	leaf();
	sink++;
	return n + 1;
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

static void *const function[NR] = {leaf,   sleeper, outer,  deep, leaper, test_bpf_hits_jumper,
				   teller, untimed, swapper};

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

/* Is opened once for each way, as closing takes long; before: what there was when a test began. */
struct measured {
	struct hits *h;
	bool is_tried;
	struct hits_place place[NR];
	struct hits_sums before[NR];
	uint64_t ended[NR], count[2];
};

static struct measured ways[HITS_PERF + 1];

static uint32_t find_pmu(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	char text[16] = "";

	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	return (uint32_t)strtoul(text, NULL, 10);
}

/* Functions of one event; leaf is of another one, too. */
static void open_way(struct measured *m, uint32_t way, bool has_children)
{
	static const uint64_t rates[2];
	static char path[64];
	uint64_t offset[NR] = {0};
	struct hits_config c = {.nr_events = 2,
				.rates = rates,
				.places = m->place,
				.nr_places = way == HITS_PERF ? NR_BY_PERF : NR,
				.first_way = way,
				.pmu = find_pmu(),
				.follow = {.has_target = true, .has_children = has_children}};
	struct err e = {0};
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)getpid());
	dl_iterate_phdr(find_offsets, offset);
	for (size_t i = 0; i < NR; i++)
		m->place[i] = (struct hits_place){.path = path,
						  .offset = offset[i],
						  .events = i == LEAF ? 3 : 1,
						  .is_timed = i != UNTIMED};
	rc = hits_open(&c, &m->h, &e);
	if (rc == -EPERM || rc == -ENOTSUP)
		SKIP("%s", e.msg);
	assert_int_equal(rc, 0);
	if (hits_way(m->h) != way)
		SKIP("the kernel has no way %u", way);
	assert_int_equal(hits_add_process(m->h, getpid()), 0);
	assert_int_equal(hits_start(m->h, &e), 0);
}

static struct hits_sums sums(const struct measured *m, size_t place)
{
	const struct hits_sums *b = &m->before[place];
	struct hits_sums s;

	hits_read(m->h, place, &s);
	return (struct hits_sums){.calls = s.calls - b->calls,
				  .wall_ns = s.wall_ns - b->wall_ns,
				  .self_ns = s.self_ns - b->self_ns,
				  .cpu_ns = s.cpu_ns - b->cpu_ns,
				  .cost_ns = s.cost_ns - b->cost_ns,
				  .max_ns = s.max_ns,
				  .skipped = s.skipped - b->skipped,
				  .left = s.left - b->left};
}

/* Calls that have ended, and were timed. */
static uint64_t ended(const struct measured *m, size_t place)
{
	const volatile uint32_t *bucket = hits_buckets(m->h, place);
	uint64_t nr = 0;

	for (uint32_t i = 0; i < hits_nr_buckets(m->h); i++)
		nr += bucket[i];
	return nr - m->ended[place];
}

static uint64_t count(const struct measured *m, size_t event)
{
	uint64_t nr = 0, lost;

	for (uint32_t cpu = 0; cpu < (uint32_t)sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		nr += hits_count(m->h, event, cpu, &lost);
		assert_int_equal(lost, 0);
	}
	return nr - m->count[event];
}

static struct measured *begin(uint32_t way)
{
	struct measured *m = &ways[way];

	if (!m->is_tried) {
		m->is_tried = true;
		open_way(m, way, true);
	}
	if (!m->h || hits_way(m->h) != way)
		SKIP("it could not be opened");
	memset(m->before, 0, sizeof(m->before));
	memset(m->ended, 0, sizeof(m->ended));
	memset(m->count, 0, sizeof(m->count));
	for (size_t i = 0; i < (way == HITS_PERF ? NR_BY_PERF : NR); i++) {
		m->ended[i] = ended(m, i);
		m->before[i] = sums(m, i);
	}
	for (size_t i = 0; i < 2; i++)
		m->count[i] = count(m, i);
	return m;
}

HOOK(after_all)
{
	for (size_t i = 0; i <= HITS_PERF; i++)
		hits_close(ways[i].h);
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
	struct measured *m = begin(way);
	pthread_t thread[THREADS];
	int nr = N;
	pid_t child;

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
	assert_int_equal(sums(m, LEAF).calls, (THREADS + 1) * N);
	assert_int_equal(ended(m, LEAF), (THREADS + 1) * N);
	assert_int_equal(count(m, 0), (THREADS + 1) * N);
	assert_int_equal(count(m, 1), (THREADS + 1) * N);
	hits_switch(m->h, 0, false);
	leaf();
	assert_int_equal(sums(m, LEAF).calls, (THREADS + 1) * N + 1); /* the other event has it */
	assert_int_equal(count(m, 0), (THREADS + 1) * N);
	hits_switch(m->h, 1, false);
	leaf();
	assert_int_equal(sums(m, LEAF).calls, (THREADS + 1) * N + 1);
	hits_switch(m->h, 1, true);
	leaf();
	hits_switch(m->h, 0, true);
	assert_int_equal(count(m, 1), (THREADS + 1) * N + 2);
}

/* What lies between the ends of a call is sums of the same readings: equal to the ns. */
static void check_times(uint32_t way)
{
	struct measured *m = begin(way);
	struct hits_sums o, s, l;
	uint32_t at = 0;

	outer(2);
	o = sums(m, OUTER);
	s = sums(m, SLEEPER);
	l = sums(m, LEAF);
	assert_int_equal(s.calls, 2);
	assert_true(s.wall_ns >= 40000000 && s.self_ns == s.wall_ns);
	assert_true(s.max_ns >= 20000000);
	assert_true(l.calls == 1 && l.cpu_ns <= l.wall_ns);
	assert_int_equal(o.wall_ns, o.self_ns + s.wall_ns + l.wall_ns);
	assert_true(o.self_ns < o.wall_ns - 40000000 + 1);
	/* 20 ms is in 16 to 32, in the fifth of 16 buckets or behind it */
	while (!hits_buckets(m->h, SLEEPER)[at])
		at++;
	assert_true(at >= (24 - hits_bits(m->h)) * 16 + (20000000 >> (24 - 4)));
}

/* A kernel of a virtual machine was seen to report no switch from threads of the first process: a
 * wait that ends with one seems to be time on a CPU. So it is tried until none has. */
static void check_cpu_time(uint32_t way)
{
	enum { TRIES = 20 };
	bool has_slept = false;

	for (int i = 0; i < TRIES && !has_slept; i++) {
		struct measured *m = begin(way);
		struct hits_sums o, s;

		outer(1);
		o = sums(m, OUTER);
		s = sums(m, SLEEPER);
		assert_true(s.cpu_ns > 0 && s.cpu_ns <= s.wall_ns && s.cpu_ns <= o.cpu_ns);
		has_slept = s.cpu_ns < s.wall_ns / 4 && o.cpu_ns < o.wall_ns / 4;
	}
	assert_true(has_slept);
}

static void check_deep(uint32_t way)
{
	enum { N = 1000, MOST = 64 };
	struct measured *m = begin(way);

	deep(N);
	assert_int_equal(sums(m, DEEP).calls, N);
	assert_int_equal(ended(m, DEEP), MOST);
	assert_int_equal(sums(m, DEEP).skipped, N - MOST);
	assert_int_equal(sums(m, DEEP).left, 0);
	deep(1);
	assert_int_equal(ended(m, DEEP), MOST + 1);
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
	struct measured *m = begin(way);

	leap(N);
	outer(0);
	assert_int_equal(sums(m, LEAPER).calls, N);
	assert_int_equal(sums(m, LEAPER).left, N);
	assert_int_equal(ended(m, LEAPER), 0);
	assert_int_equal(sums(m, LEAF).calls, N + 1);
	assert_int_equal(ended(m, LEAF), N + 1);
	assert_int_equal(sums(m, LEAF).self_ns, sums(m, LEAF).wall_ns);
	assert_int_equal(ended(m, OUTER), 1);
}

/* Both return at the same address. */
static void check_tail_call(uint32_t way)
{
	enum { N = 10 };
	struct measured *m = begin(way);
	struct hits_sums j, l;

	for (int i = 0; i < N; i++)
		test_bpf_hits_jumper(leaf);
	j = sums(m, JUMPER);
	l = sums(m, LEAF);
	assert_int_equal(ended(m, JUMPER), N);
	assert_int_equal(ended(m, LEAF), N);
	assert_int_equal(j.left + l.left, 0);
	assert_int_equal(j.wall_ns, j.self_ns + l.wall_ns);
}

static void check_leave_out(uint32_t way)
{
	static const bool is_out[NR] = {[SLEEPER] = true};
	struct measured *m = begin(way);

	outer(1);
	assert_int_equal(hits_leave_out(m->h, is_out), 0);
	outer(1);
	hits_leave_rest(m->h);
	outer(1);
	assert_int_equal(sums(m, SLEEPER).calls, 1);
	assert_int_equal(sums(m, OUTER).calls, 3);
	assert_int_equal(ended(m, OUTER), 3);
	assert_int_equal(ended(m, LEAF), 3);
}

/* Of a function without times the return address is the program's own. */
static void check_untimed(uint32_t way)
{
	struct measured *m = begin(way);
	Dl_info info;

	assert_int_equal(dladdr(teller(), &info), 0);
	assert_int_not_equal(dladdr(untimed(), &info), 0);
	assert_int_equal(ended(m, TELLER), 1);
	assert_int_equal(sums(m, UNTIMED).calls, 1);
	assert_int_equal(ended(m, UNTIMED), 0);
	assert_int_equal(sums(m, UNTIMED).left + sums(m, UNTIMED).skipped, 0);
}

/* --- other stacks ---------------------------------------------------------------------------- */

enum { SWAPS = 10, STACK_BYTES = 256 << 10, PAGE = 4096 };
static int swapped;

static void run_first(void)
{
	for (int i = 0; i < SWAPS; i++)
		swapped += swapper(&first, &second, i);
	swapcontext(&first, &above);
}

static void run_second(void)
{
	for (int i = 0;; i++)
		swapped += swapper(&second, &first, i);
}

static void make_stack(ucontext_t *c, char *stack, void (*fn)(void))
{
	getcontext(c);
	c->uc_stack.ss_sp = stack;
	c->uc_stack.ss_size = STACK_BYTES;
	c->uc_link = &above;
	makecontext(c, fn, 0);
}

/* The program goes on right, whichever stack is above the other; and each call is counted. */
static void check_stacks(uint32_t way)
{
	enum { EACH = STACK_BYTES + PAGE };
	struct measured *m = begin(way);
	char *memory =
	    mmap(NULL, 2 * EACH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	for (int i = 0; i < 2; i++) {
		mprotect(memory + i * EACH, PAGE, PROT_NONE);
		swapped = 0;
		make_stack(&first, memory + PAGE + (i ? EACH : 0), run_first);
		make_stack(&second, memory + PAGE + (i ? 0 : EACH), run_second);
		swapcontext(&above, &first);
		assert_int_equal(swapped, SWAPS * (SWAPS + 1) / 2 + SWAPS * (SWAPS - 1) / 2);
	}
	assert_int_equal(sums(m, SWAPPER).calls, 4 * SWAPS);
	assert_int_equal(sums(m, LEAF).calls, 4 * SWAPS - 2);
	munmap(memory, 2 * EACH);
}

#define WAY(what, name, way)                                                                       \
	TEST(what##_by_##name)                                                                     \
	{                                                                                          \
		check_##what(way);                                                                 \
	}

WAY(counts, session, HITS_SESSION)
WAY(times, session, HITS_SESSION)
WAY(cpu_time, session, HITS_SESSION)
WAY(deep, session, HITS_SESSION)
WAY(longjmp, session, HITS_SESSION)
WAY(tail_call, session, HITS_SESSION)
WAY(untimed, session, HITS_SESSION)
WAY(stacks, session, HITS_SESSION)
WAY(counts, multi, HITS_MULTI)
WAY(times, multi, HITS_MULTI)
WAY(cpu_time, multi, HITS_MULTI)
WAY(deep, multi, HITS_MULTI)
WAY(longjmp, multi, HITS_MULTI)
WAY(tail_call, multi, HITS_MULTI)
WAY(untimed, multi, HITS_MULTI)
WAY(counts, perf, HITS_PERF)
WAY(times, perf, HITS_PERF)
WAY(cpu_time, perf, HITS_PERF)

TEST(price)
{
	struct measured *m = begin(HITS_SESSION);
	for (int i = 0; i < HITS_NR_KINDS; i++) {
		struct hits_price p = hits_price(m->h, (enum hits_kind)i);

		assert_true(p.cost_ns > p.inside_ns && p.inside_ns > 0);
	}
	hits_set_price(m->h, LEAF, (struct hits_price){1000, 100});
	hits_set_price(m->h, OUTER, (struct hits_price){5000, 500});
	hits_set_price(m->h, DEEP, (struct hits_price){.entry_ns = 7});
	deep(70);
	assert_int_equal(sums(m, DEEP).cost_ns, 64 * 6 * 7);
	outer(0);
	assert_int_equal(sums(m, LEAF).cost_ns, 100);
	assert_int_equal(sums(m, OUTER).cost_ns, 500 + 1000);
}

TEST(no_children)
{
	struct measured m = {0};
	pid_t child;

	open_way(&m, HITS_SESSION, false);
	leaf();
	child = fork();
	if (child == 0) {
		leaf();
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(sums(&m, LEAF).calls, 1);
	hits_close(m.h);
}

static int open_and_close(void)
{
	static const uint64_t rates[1];
	const struct hits_config c = {.nr_events = 1, .rates = rates, .follow.has_target = true};
	struct hits *h = NULL;
	struct err e = {0};
	int rc = hits_open(&c, &h, &e);

	rc = rc ?: hits_start(h, &e) ?: hits_leave_out(h, NULL);
	hits_close(h);
	return rc;
}

/* --- values of arguments and results --------------------------------------------------------- */

/* More than registers have room for, of which some lie on the stack. */
NAMED static int valued(const char *text, int n, unsigned char small, long c, long d, long e,
			short f, const char *late)
{
	sink += n + small + (int)(c + d + e) + f;
	if (late)
		sink += *late;
	return text ? -n : 77;
}

static const struct hits_field fields[] = {
    {HITS_STRING, HITS_REGISTER, 0, 8},   {HITS_SIGNED, HITS_REGISTER, 1, 4},
    {HITS_UNSIGNED, HITS_REGISTER, 2, 1}, {HITS_POINTER, HITS_REGISTER, 3, 8},
#ifdef __x86_64__
    {HITS_SIGNED, HITS_STACK, 0, 2},      {HITS_STRING, HITS_STACK, 1, 8},
#else
    {HITS_SIGNED, HITS_REGISTER, 6, 2},   {HITS_STRING, HITS_REGISTER, 7, 8},
#endif
    {HITS_SIGNED, HITS_RESULT, 0, 4},
};
enum { F_TEXT, F_N, F_SMALL, F_POINTER, F_STACK, F_LATE, F_RESULT };

static uint64_t offset_of_valued;

static int find_valued(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = (uintptr_t)valued - info->dlpi_addr - p->p_vaddr;

		if (p->p_type == PT_LOAD && at < p->p_filesz)
			offset_of_valued = at + p->p_offset;
	}
	return 1;
}

/* Calls that had it. number: of a number or range; text: of a text. */
static struct hits_value value_of(const struct hits *h, uint32_t field, enum hits_value_kind kind,
				  int64_t number, const char *text)
{
	struct hits_value v = {.calls = 0};

	for (size_t i = 0; i < hits_nr_values(h); i++)
		if (hits_value(h, i, &v) && v.field == field && v.kind == kind &&
		    v.number == (uint64_t)number && strcmp(v.text, text) == 0)
			return v;
	return (struct hits_value){.calls = 0};
}

static uint64_t calls_of(const struct hits *h, uint32_t field)
{
	struct hits_value v;
	uint64_t sum = 0;

	for (size_t i = 0; i < hits_nr_values(h); i++)
		sum += hits_value(h, i, &v) && v.field == field ? v.calls : 0;
	return sum;
}

static void call_valued(void)
{
	enum { MANY = 1000 };
	static const char late[] __attribute__((aligned(4096))) = "in no page so far";
	char text[400];
	char *from_file =
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(from_file, MAP_FAILED);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 3; i++)
		valued("three", -5, 250, 0x1234, 0, 0, -300, NULL);
	valued(NULL, 5, 250, 0x1234, 0, 0, -300, late);
	valued(text, 5, 250, 0x1234, 0, 0, -300, from_file); /* not in memory until it is used */
	valued((const char *)8, 5, 250, 0x1234, 0, 0, -300, NULL);
	munmap(from_file, 4096);
	for (int i = 0; i < MANY; i++) {
		snprintf(text, sizeof(text), "%d", i);
		valued(text, 1000 + i, 250, i, 0, 0, -300, NULL);
	}
}

static void check_values(const struct hits *h)
{
	enum { MANY = 1000, EXACT = 256 };
	struct hits_value v = value_of(h, F_TEXT, HITS_VALUE_TEXT, 0, "three");
	char begin[120];

	assert_true(v.calls == 3 && v.timed == 3 && v.wall_ns && v.max_ns <= v.wall_ns);
	memset(begin, 'x', sizeof(begin) - 1);
	begin[sizeof(begin) - 1] = '\0';
	assert_int_equal(value_of(h, F_TEXT, HITS_VALUE_LONG_TEXT, 0, begin).calls, 1);
	assert_int_equal(value_of(h, F_TEXT, HITS_VALUE_NULL, 0, "").calls, 1);
	assert_int_equal(value_of(h, F_TEXT, HITS_VALUE_UNREADABLE, 0, "").calls, 1);
	assert_int_equal(value_of(h, F_TEXT, HITS_VALUE_TEXT, 0, "17").calls, 1);
	assert_int_equal(value_of(h, F_TEXT, HITS_VALUE_OTHERS, 0, "").calls, MANY + 4 - EXACT);
	v = value_of(h, F_N, HITS_VALUE_NUMBER, -5, "");
	assert_true(v.calls == 3 && (int64_t)v.sum == -15);
	assert_int_equal(value_of(h, F_N, HITS_VALUE_NUMBER, 1000 + EXACT - 3, "").calls, 1);
	assert_int_equal(value_of(h, F_N, HITS_VALUE_RANGE, 11, "").calls, MANY - (EXACT - 2));
	assert_int_equal(value_of(h, F_SMALL, HITS_VALUE_NUMBER, 250, "").calls, MANY + 6);
	assert_int_equal(value_of(h, F_POINTER, HITS_VALUE_NUMBER, 0x1234, "").calls, 6);
	assert_int_equal(value_of(h, F_POINTER, HITS_VALUE_OTHERS, 0, "").calls, MANY + 1 - EXACT);
	assert_int_equal(value_of(h, F_STACK, HITS_VALUE_NUMBER, -300, "").calls, MANY + 6);
	assert_int_equal(value_of(h, F_LATE, HITS_VALUE_TEXT, 0, "in no page so far").calls, 1);
	assert_int_equal(value_of(h, F_LATE, HITS_VALUE_TEXT, 0, "").calls, 1);
	assert_int_equal(value_of(h, F_RESULT, HITS_VALUE_NUMBER, 77, "").calls, 1);
	assert_int_equal(value_of(h, F_RESULT, HITS_VALUE_NUMBER, 5, "").calls, 3);
	for (uint32_t i = 0; i <= F_RESULT; i++)
		assert_int_equal(calls_of(h, i), MANY + 6);
	assert_int_equal(hits_values_lost(h), 0);
}

/* Events that count when calls end, with what each means, and how many calls that are. */
enum { FIRST_ENDED = 1, NR_ENDED = 4, ENDED_MASK = ((1 << NR_ENDED) - 1) << FIRST_ENDED };
static const char long_text[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
				"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
_Static_assert(sizeof(long_text) - 1 == HITS_TEXT_BYTES, "as long as it may be");
static const struct hits_pattern patterns[] = {
    {"three", 5, false},
    {long_text, HITS_TEXT_BYTES, true},
    {long_text, HITS_TEXT_BYTES, false},
    {"in no page so far", 17, false},
};
enum { P_THREE = 1, P_BEGIN, P_WHOLE, P_LATE };
#define ANY 0, UINT64_MAX
#define M   HITS_MEANT
static const struct hits_when when = {
    .term = {{1, F_TEXT, P_THREE, {1, M | 1}, false, {1, 0}},
	     {2, F_TEXT, P_BEGIN, {2, M | 3}, false, {1, 0}},
	     {2, F_LATE, P_LATE, {3, M | 3}, false, {1, 0}},
	     {3, F_RESULT, 0, {4, M | 7}, false, {77, 0}},
	     {3, HITS_DURATION, 0, {7, 5}, false, {ANY}},
	     {3, F_N, 0, {7, 6}, false, {1000, 9}},
	     {3, F_SMALL, 0, {7, M | 7}, false, {250, 0}},
	     {4, F_TEXT, P_WHOLE, {8, M | 10}, false, {1, 0}},
	     {4, F_TEXT, P_BEGIN, {10, 9}, false, {0, 0}},
	     {4, F_N, 0, {10, M | 10}, false, {(uint64_t)-5, 10}}},
    .nr = 10};
/* The last one: those with n from -5 to 5 and a text that begins otherwise, or none. */
static const uint64_t expected_ended[NR_ENDED] = {3, 2, 11, 4};

static void check_ended(const struct hits *h)
{
	for (size_t i = 0; i < NR_ENDED; i++) {
		uint64_t nr = 0, lost;

		for (uint32_t cpu = 0; cpu < (uint32_t)sysconf(_SC_NPROCESSORS_CONF); cpu++)
			nr += hits_count(h, FIRST_ENDED + i, cpu, &lost);
		assert_int_equal(nr, expected_ended[i]);
	}
}

static void check_way_of_values(uint32_t way)
{
	static const uint64_t rates[FIRST_ENDED + NR_ENDED];
	char path[64];
	struct hits_place place = {
	    .path = path, .events = 1 | ENDED_MASK, .is_timed = true, .capture = 1, .when = 1};
	struct hits_capture capture = {
	    .events = 1, .wanted = ENDED_MASK, .nr = sizeof(fields) / sizeof(*fields)};
	struct hits_config c = {.nr_events = FIRST_ENDED + NR_ENDED,
				.rates = rates,
				.ended = ENDED_MASK,
				.whens = &when,
				.nr_whens = 1,
				.patterns = patterns,
				.nr_patterns = sizeof(patterns) / sizeof(*patterns),
				.places = &place,
				.nr_places = 1,
				.captures = &capture,
				.nr_captures = 1,
				.first_way = way,
				.pmu = find_pmu(),
				.process = getpid(),
				.follow = {.has_target = true}};
	struct hits *h = NULL;
	struct err e = {0};
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)getpid());
	memcpy(capture.field, fields, sizeof(fields));
	dl_iterate_phdr(find_valued, NULL);
	place.offset = offset_of_valued;
	rc = hits_open(&c, &h, &e);
	if (rc == -EPERM || rc == -ENOTSUP)
		SKIP("%s", e.msg);
	assert_int_equal(rc, 0);
	if (hits_way(h) != way) {
		hits_close(h);
		SKIP("the kernel has no way %u", way);
	}
	assert_int_equal(hits_add_process(h, getpid()), 0);
	assert_int_equal(hits_start(h, &e), 0);
	call_valued();
	check_values(h);
	check_ended(h);
	hits_switch(h, 0, false);
	valued("three", -5, 250, 0x1234, 0, 0, -300, NULL);
	check_values(h);
	hits_close(h);
}

TEST(values_session)
{
	check_way_of_values(HITS_SESSION);
}

TEST(values_multi)
{
	check_way_of_values(HITS_MULTI);
}

/* Each allocation fails once, and some calls: then it works, perhaps in another way, or says why
 * not.
 */
TEST(failures)
{
	enum { MOST = 6 };
	size_t nr_fds;
	int rc = 0;

	(void)begin(HITS_SESSION); /* it works here */
	nr_fds = inject_open_fds();
	for (unsigned n = 1; n == 1 || inject.fired; n++) {
		inject_mem(n);
		rc = open_and_close();
		inject_stop();
		assert_true(rc == 0 || (inject.fired && rc == -ENOMEM));
		assert_int_equal(inject.nr_live, 0);
		assert_true(n < 100);
	}
	for (unsigned n = 1; n <= MOST; n++) {
		inject_sys(n, -EIO);
		rc = open_and_close();
		inject_stop();
		assert_true(rc == 0 || inject.fired);
		assert_int_equal(inject_open_fds(), nr_fds);
	}
}

/* The last ones: the function stays left out. */
WAY(leave_out, session, HITS_SESSION)
WAY(leave_out, multi, HITS_MULTI)
