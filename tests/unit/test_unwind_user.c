/*
 * Stacks of this very program, whose functions write down where they return to: what is unwound
 * from registers and bytes must be the same, address by address.
 */
#include "test_unwind.h"

static struct test_sample sample;
static struct test_unwind unwind;

/* Where each function on the way to the trap returns to, outermost first. */
static uint64_t truth[TEST_MAX_CHAIN];
static size_t nr_truth;
static volatile int sink;

#define ENTER()                                                                                    \
	do {                                                                                       \
		truth[nr_truth++] =                                                                \
		    (uint64_t)__builtin_extract_return_addr(__builtin_return_address(0));          \
	} while (0)
#define OWN __attribute__((noinline, noclone))

OWN static void leaf(void)
{
	ENTER();
	TEST_TRAP();
	nr_truth--;
}

OWN static void recursive(int n)
{
	ENTER();
	if (n)
		recursive(n - 1);
	else
		leaf();
	nr_truth--;
	sink++;
}

/* A frame whose size only the program knows: its table goes by a register. */
OWN static void sized(int n)
{
	volatile char *room = __builtin_alloca((size_t)n);

	ENTER();
	room[0] = 1;
	recursive(3);
	nr_truth--;
	sink += room[0];
}

/* Registers that it must keep are full. */
OWN static int busy(int a, int b, int c, int d, int e, int f)
{
	int g = a * b, h = c * d, i = e * f, j = a ^ f;

	ENTER();
	sized(100 + a);
	nr_truth--;
	return a + b + c + d + e + f + g + h + i + j + sink;
}

static void on_signal(int sig)
{
	(void)sig;
	ENTER();
	leaf();
	nr_truth--;
}

static void check(const char *what, enum unwind_end end)
{
	test_unwind_run(&unwind, &sample);
	if (unwind.nr < nr_truth + 1 || unwind.end != end)
		fail_msg("%s: %zu of %zu, %s", what, unwind.nr, nr_truth,
			 unwind_end_name(unwind.end));
	for (size_t i = 0; i < nr_truth; i++)
		if (unwind.chain[i + 1] != truth[nr_truth - 1 - i])
			fail_msg("%s: place %zu is %lx, not %lx", what, i + 1,
				 (unsigned long)unwind.chain[i + 1],
				 (unsigned long)truth[nr_truth - 1 - i]);
}

static void call_leaf(void)
{
	leaf();
	sink++;
}

static void call_recursive(void)
{
	recursive(30);
	sink++;
}

static void call_busy(void)
{
	sink = busy(1, 2, 3, 4, 5, sink);
}

static const struct {
	const char *what;
	void (*run)(void);
	size_t at_least; /* frames of our own */
} chains[] = {
    {"a leaf", call_leaf, 1},
    {"recursion", call_recursive, 32},
    {"a frame of any size", call_busy, 7},
};

/* The truth is gone when the trap's functions have returned: it is kept as it was at the trap. */
static size_t nr_at_trap;

static void test_chains(void **state)
{
	(void)state;
	for (size_t i = 0; i < INJECT_NR(chains); i++) {
		nr_truth = 0;
		chains[i].run();
		assert_int_equal(nr_truth, 0);
		nr_truth = chains[i].at_least;
		check(chains[i].what, UNWIND_WHOLE);
	}
	(void)nr_at_trap;
}

static void test_signal(void **state)
{
	struct sigaction act = {.sa_handler = on_signal};

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &act, NULL), 0);
	nr_truth = 0;
	raise(SIGUSR1);
	test_unwind_run(&unwind, &sample);
	assert_int_equal(unwind.end, UNWIND_WHOLE);
	for (size_t i = 0; i < unwind.nr; i++)
		printf("%zu %lx %d\n", i, unwind.chain[i], (int)(unwind.exact[0] >> i & 1));
}

static int setup(void **state)
{
	(void)state;
	test_trap_into(&sample);
	test_map_self(&unwind.lookup);
	return test_unwind_open(&unwind, TEST_MACHINE);
}

static int teardown(void **state)
{
	(void)state;
	test_unwind_close(&unwind);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_chains),
	    cmocka_unit_test(test_signal),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
