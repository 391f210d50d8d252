/*
 * Code made at run time: callers by the table of its compiler, and those of Python's trampolines,
 * on both machines, for samples made by hand.
 */
#include "kit.h"

#include "test_unwind.h"

enum {
	STACK = 0x7000,
	TABLED = 0x10000,     /* a function with a table */
	TRAMPOLINE = 0x20000, /* each 16 bytes from here on are one */
	OTHER = 0x30000,      /* made, without a name */
	END = 0x40000,
	X86_REGS = 0xff0fff,
	WORDS = 32,
};
static const uint64_t arm64_regs = 0x1ffffffffULL;

/* As CPython 3.13 writes it (-X perf_jit) for code of 15 bytes on x86-64. */
static const uint8_t of_python[] = {
    0x14, 0,    0,    0,    0,    0,    0, 0, 1,    0x7a, 0x52, 0,    0x01, 0x78, 0x10, 0x01,
    0x1b, 0x0c, 0x07, 0x08, 0x90, 0x01, 0, 0, 0x14, 0,    0,    0,    0x1c, 0,    0,    0,
    0xd0, 0xff, 0xff, 0xff, 0x0f, 0,    0, 0, 0,    0x48, 0x0e, 0x10, 0x46, 0x0e, 0x08, 0};

static struct test_unwind unwind;
static struct test_sample sample;
static uint64_t words[WORDS]; /* of the stack */
static const uint8_t *table;
static size_t table_len;

static bool find_made(void *arg, const struct unwind_mapping *mapping, uint64_t address,
		      uint64_t time_ns, struct unwind_made *out)
{
	(void)arg;
	(void)time_ns;
	assert_true(address >= mapping->start && address < END);
	*out = (struct unwind_made){.name = "py::f", .address = address};
	if (address < TRAMPOLINE) {
		/* as loaded, it was elsewhere */
		*out = (struct unwind_made){.name = "f",
					    .address = address - TABLED + 0x555000,
					    .table = table,
					    .table_len = table_len,
					    .table_address = 0x555010};
	}
	return address < OTHER;
}

static void set_up(const char *machine)
{
	unwind = (struct test_unwind){.find_made = find_made};
	memset(words, 0, sizeof(words));
	table = of_python;
	table_len = sizeof(of_python);
	assert_int_equal(test_unwind_open(&unwind, machine), 0);
	test_map(&unwind.lookup, TABLED, END, 0, PROT_READ | PROT_EXEC, "//anon");
}

static void take(uint64_t user_regs)
{
	memcpy(sample.stack, words, sizeof(words));
	sample.stack_len = sizeof(words);
	test_sample_init(&sample, user_regs);
}

static void take_x86(uint64_t pc, uint64_t fp)
{
	memset(sample.reg, 0, sizeof(sample.reg));
	sample.reg[6] = fp;
	sample.reg[7] = STACK;
	sample.reg[8] = pc;
	take(X86_REGS);
}

static void expect(const uint64_t *chain, size_t nr, enum unwind_end end)
{
	test_unwind_run(&unwind, &sample);
	assert_int_equal(unwind.nr, nr);
	assert_memory_equal(unwind.chain, chain, nr * sizeof(*chain));
	assert_int_equal(unwind.end, end);
}

/* From a function with a table, at each of its instructions, through trampolines of either kind, to
 * frames. The second kind has saved the frame pointer. */
static const struct {
	uint64_t pc;
	size_t pushed; /* words */
} instructions[] = {
    {TABLED, 0}, {TABLED + 7, 0}, {TABLED + 8, 1}, {TABLED + 13, 1}, {TABLED + 14, 0}};

static void make_x86(size_t pushed, uint64_t chain[5])
{
	uint64_t *w = words + pushed;

	memset(words, 0, sizeof(words));
	w[0] = chain[1] = TRAMPOLINE + 10;
	w[1] = 99; /* no frame pointer */
	w[2] = chain[2] = TRAMPOLINE + 26;
	w[3] = STACK + 8 * (pushed + 8); /* one: that of the frame below */
	w[4] = chain[3] = OTHER + 5;
	w[8] = 0;
	w[9] = chain[4] = OTHER + 99;
}

TEST(trampolines)
{
	set_up("x86_64");
	for (size_t i = 0; i < NR(instructions); i++) {
		const size_t pushed = instructions[i].pushed;
		uint64_t chain[5] = {instructions[i].pc};

		make_x86(pushed, chain);
		take_x86(instructions[i].pc, STACK + 8 * (pushed + 3));
		expect(chain, NR(chain), UNWIND_NO_TABLE);
	}
	test_unwind_close(&unwind);
}

/* A table whose rules fit into no row: the CFA is an expression. */
TEST(expression)
{
	static const uint8_t breg7_16[] = {0x0f, 2, 0x77, 16, 0, 0, 0};
	static uint8_t with_expression[sizeof(of_python)];
	uint64_t chain[5] = {TABLED + 8};

	set_up("x86_64");
	memcpy(with_expression, of_python, sizeof(of_python));
	memcpy(with_expression + sizeof(of_python) - sizeof(breg7_16), breg7_16, sizeof(breg7_16));
	table = with_expression;
	make_x86(1, chain);
	take_x86(TABLED + 8, STACK + 8 * 4);
	expect(chain, NR(chain), UNWIND_NO_TABLE);
	test_unwind_close(&unwind);
}

/* Those between the sampled function and the first frame. */
TEST(trampolines_before_a_chain)
{
	uint64_t chain[5] = {TABLED + 8};
	bool is_whole;

	set_up("x86_64");
	make_x86(1, chain);
	take_x86(TABLED + 8, STACK + 8 * 4);
	unwind.nr = unwind_to_chain(unwind.u, &unwind.process, 0, &sample.layout, &sample.record,
				    unwind.chain, TEST_MAX_CHAIN, &is_whole);
	assert_int_equal(unwind.nr, 2);
	assert_memory_equal(unwind.chain, chain + 1, 2 * sizeof(*chain));
	assert_false(is_whole);
	test_unwind_close(&unwind);
}

TEST(trampolines_of_arm64)
{
	static const uint64_t chain[] = {OTHER, TRAMPOLINE + 12, OTHER + 8, OTHER + 16};

	set_up("aarch64");
	memset(sample.reg, 0, sizeof(sample.reg));
	for (size_t i = 0; i < 3; i++) { /* frames */
		words[2 * i] = i < 2 ? STACK + 16 * (i + 1) : 0;
		words[2 * i + 1] = chain[i + 1];
	}
	sample.reg[29] = sample.reg[31] = STACK;
	sample.reg[32] = chain[0];
	take(arm64_regs);
	expect(chain, NR(chain), UNWIND_NO_TABLE);
	test_unwind_close(&unwind);
}

/* A trampoline's own instructions are not known, nor is code without a name. */
TEST(without_rules)
{
	static const uint64_t at[] = {TRAMPOLINE + 4, OTHER};

	set_up("x86_64");
	words[0] = words[1] = OTHER + 5;
	for (size_t i = 0; i < NR(at); i++) {
		take_x86(at[i], 0);
		expect(&at[i], 1, UNWIND_NO_TABLE);
	}
	test_unwind_close(&unwind);
}

/* Whatever a table holds, and however long it is. */
TEST(hostile_tables)
{
	uint64_t chain[5] = {TABLED + 8};
	size_t nr_found = 0;

	set_up("x86_64");
	make_x86(1, chain);
	take_x86(TABLED + 8, 0);
	for (size_t i = 0; i < sizeof(of_python); i++)
		for (unsigned bit = 0; bit <= 8; bit++) {
			uint8_t *copy;

			table_len = bit < 8 ? sizeof(of_python) : i;
			table = copy = malloc(table_len + !table_len);
			assert_non_null(copy);
			memcpy(copy, of_python, table_len);
			if (bit < 8)
				copy[i] ^= (uint8_t)(1u << bit);
			test_unwind_run(&unwind, &sample);
			nr_found += unwind.nr > 1 && unwind.chain[1] == chain[1];
			free(copy);
		}
	assert_true(nr_found > 0 && nr_found < 8 * sizeof(of_python));
	test_unwind_close(&unwind);
}
