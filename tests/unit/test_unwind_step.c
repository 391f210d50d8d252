/*
 * Every instruction of some calls, single-stepped: prologues, epilogues, stubs of the linkage
 * table, the dynamic linker and the C library. At each the caller of it all must be in the chain,
 * and from one instruction to the next the chain may get longer or shorter by one function only.
 * Needs a machine with a trap flag (x86-64); elsewhere it is skipped.
 */
#include "kit.h"
#include "test_unwind.h"

#if defined(__x86_64__)
enum { MAX_STEPS = 4000, STEP_STACK_BYTES = 16384, TRAP_FLAG = 0x100 };

static struct {
	uint64_t reg[20];
	uint32_t len;
	uint8_t stack[STEP_STACK_BYTES];
} steps[MAX_STEPS];
static volatile size_t nr_steps, nr_more;
static volatile bool is_stepping;
static struct test_sample sample;
static struct test_unwind unwind;
static volatile int sink;

__attribute__((no_sanitize("address"))) static void keep_step(const ucontext_t *c)
{
	uint64_t sp;

	if (nr_steps == MAX_STEPS) {
		nr_more++;
		return;
	}
	sp = test_take_regs(&sample, c);
	memcpy(steps[nr_steps].reg, sample.reg, sizeof(steps[0].reg));
	steps[nr_steps].len = test_stack_end - sp < STEP_STACK_BYTES
				  ? (uint32_t)(test_stack_end - sp)
				  : STEP_STACK_BYTES;
	test_copy(steps[nr_steps].stack, sp, steps[nr_steps].len);
	nr_steps++;
}

/* The first int3 begins, the second ends. */
static void on_step(int sig, siginfo_t *info, void *arg)
{
	ucontext_t *c = arg;

	(void)sig;
	if (info->si_code != TRAP_TRACE) {
		is_stepping = !is_stepping;
		c->uc_mcontext.gregs[REG_EFL] ^= TRAP_FLAG;
	} else if (is_stepping) {
		keep_step(c);
	}
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void call_qsort(void)
{
	int numbers[] = {3, 1, 2, 9, 7};

	qsort(numbers, NR(numbers), sizeof(*numbers), compare);
	sink = numbers[0];
}

/* Through the linkage table, for the first time: the dynamic linker looks for the function. */
static void call_first_time(void)
{
	sink = (int)ffsl(sink);
}

static void call_printf(void)
{
	char text[64];

	sink = snprintf(text, sizeof(text), "%d %s %.3f", sink, "text", 1.5);
}

__attribute__((noinline)) static int many(int a, int b, int c, int d, int e, int f, int g)
{
	volatile int room[3] = {a, b, c};

	return a < 1 ? d + e + f + g + room[1] : many(a - 1, c, b, e, d, g, f) + room[2];
}

static void call_many(void)
{
	sink = many(6, 2, 3, 4, 5, 6, sink);
}

static void call_free(void)
{
	void *volatile p = malloc(100);

	free(p);
}

static const struct {
	const char *what;
	void (*run)(void);
	size_t at_least; /* instructions */
} calls[] = {
    {"own functions", call_many, 50},
    {"qsort", call_qsort, 100},
    {"a function not called before", call_first_time, 5},
    {"snprintf", call_printf, 300},
    {"malloc and free", call_free, 20},
};

/* Its return address is in each chain. */
__attribute__((noinline)) static void step_through(void (*run)(void), uint64_t *truth)
{
	*truth = (uint64_t)__builtin_return_address(0);
	__asm__ volatile("int3" ::: "memory");
	run();
	__asm__ volatile("int3" ::: "memory");
}

static void unwind_step(size_t i)
{
	memcpy(sample.reg, steps[i].reg, sizeof(steps[i].reg));
	sample.stack_len = steps[i].len;
	memcpy(sample.stack, steps[i].stack, steps[i].len);
	test_sample_init(&sample, TEST_REGS);
	test_unwind_run(&unwind, &sample);
}

/* How many frames there are up to step_through's caller; 0: it is not there. */
static size_t depth(uint64_t truth)
{
	for (size_t i = 0; i < unwind.nr; i++)
		if (unwind.chain[i] == truth)
			return i;
	return 0;
}

static void tell(const char *what, const char *wrong, size_t i)
{
	char text[2048];
	size_t len = 0;

	for (size_t k = 0; k < unwind.nr && k < 20; k++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, " %lx",
					(unsigned long)unwind.chain[k]);
	fail_msg("%s, instruction %zu: %s:%s, %s", what, i, wrong, text,
		 unwind_end_name(unwind.end));
}

static void check_steps(const char *what, uint64_t truth)
{
	size_t last = 0;

	for (size_t i = 0; i < nr_steps; i++) {
		size_t now;

		unwind_step(i);
		now = depth(truth);
		if (!now)
			tell(what, "the caller is not there", i);
		if (last && (now > last + 1 || last > now + 1))
			tell(what, "more than one call at once", i);
		last = now;
	}
}

TEST(steps)
{
	uint64_t truth = 0;

	for (size_t i = 0; i < NR(calls); i++) {
		nr_steps = nr_more = 0;
		step_through(calls[i].run, &truth);
		test_map_self(&unwind.lookup);
		assert_true(nr_steps >= calls[i].at_least);
		check_steps(calls[i].what, truth);
	}
}

HOOK(before_all)
{
	struct sigaction act = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	test_trap_into(&sample);
	assert_int_equal(sigaction(SIGTRAP, &act, NULL), 0);
	test_map_self(&unwind.lookup);
	assert_int_equal(test_unwind_open(&unwind, TEST_MACHINE), 0);
}

HOOK(after_all)
{
	test_unwind_close(&unwind);
}
#endif
