/*
 * Samples of an arm64 program (tests/data/unwind/arm64.c) on whatever machine this is: its chain of
 * functions is known, and so is where the signal met it. With .eh_frame, and with .debug_frame
 * alone; and as a machine that signs return addresses would have recorded them.
 */
#include "kit.h"
#include "paths.h"
#include "test_unwind.h"

enum { NR_REGS = 33, LR = 30, SP = 31, PC = 32, NR_CHAIN = 10, VDSO_AT = 5, SIGNAL_AT = 6 };

/* 55 bits of an address space, of which programs use 48: the rest of a signed address. */
static const uint64_t signature = 0x2a000000000000ull | 0x5b00000000000000ull;

static const struct {
	const char *name;
	uint64_t chain[NR_CHAIN];
} programs[] = {
    {"arm64",
     {0x400210, 0x40025c, 0x400240, 0x400240, 0x400284, 0, 0x4002b4, 0x4002f4, 0x400370, 0x4001b8}},
    {"arm64-debug",
     {0x4001e0, 0x40022c, 0x400210, 0x400210, 0x400254, 0, 0x400284, 0x4002c4, 0x400340, 0x400188}},
};

static struct test_sample sample;
static struct test_unwind unwind;

static size_t load(const char *name, const char *suffix, void *to, size_t max)
{
	char path[4096];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/unwind/%s%s", TEST_DATA_DIR, name, suffix);
	f = fopen(path, "re");
	assert_non_null(f);
	len = fread(to, 1, max, f);
	fclose(f);
	return len;
}

static void take_sample(const char *name)
{
	static uint8_t bytes[TEST_STACK_BYTES];
	size_t len = load(name, ".sample", bytes, sizeof(bytes)), regs = NR_REGS * sizeof(uint64_t);

	assert_true(len > regs);
	memcpy(sample.reg, bytes, regs);
	memcpy(sample.stack, bytes + regs, len - regs);
	sample.stack_len = len - regs;
	test_sample_init(&sample, (1ull << NR_REGS) - 1);
}

/* The first word of the stack that leads into the vdso, which lay anywhere. */
static uint64_t find_vdso(void)
{
	for (uint64_t i = 0; i < sample.stack_len / 8; i++) {
		uint64_t v = trace_word(sample.stack, i);

		if (v >> 32 == 0xffff && (v & 0xfff) == 0x7bc)
			return v;
	}
	fail_msg("no way into the vdso");
	return 0;
}

static void open_program(const char *name)
{
	uint64_t vdso;
	char path[4096];

	snprintf(path, sizeof(path), "%s/unwind/%s.elf", TEST_DATA_DIR, name);
	take_sample(name);
	vdso = find_vdso();
	unwind = (struct test_unwind){0};
	test_map(&unwind.lookup, 0x400000, 0x401000, 0, PROT_READ | PROT_EXEC, path);
	test_map(&unwind.lookup, vdso & ~0xfffull, (vdso | 0xfff) + 1, 0, PROT_READ | PROT_EXEC,
		 "[vdso]");
	assert_int_equal(test_unwind_open(&unwind, "aarch64"), 0);
}

static void check_chain(const uint64_t *chain, size_t nr, enum unwind_end end)
{
	test_unwind_run(&unwind, &sample);
	assert_int_equal(unwind.end, end);
	assert_int_equal(unwind.nr, nr);
	for (size_t i = 0; i < nr; i++)
		assert_true(unwind.chain[i] == chain[i] || i == VDSO_AT);
	assert_int_equal(unwind.exact[0], nr > SIGNAL_AT ? 1 | 1 << VDSO_AT | 1 << SIGNAL_AT : 1);
}

TEST(chain)
{
	for (size_t i = 0; i < NR(programs); i++) {
		open_program(programs[i].name);
		check_chain(programs[i].chain, NR_CHAIN, UNWIND_WHOLE);
		test_unwind_close(&unwind);
	}
}

/* Its row, and nothing that is guessed: what the register has follows no call. */
TEST(first_instruction)
{
	uint64_t chain[] = {0, 0};

	for (size_t i = 0; i < NR(programs); i++) {
		open_program(programs[i].name);
		chain[0] = programs[i].chain[0];
		chain[1] = sample.reg[LR] = programs[i].chain[1] + 4;
		test_unwind_run(&unwind, &sample);
		assert_memory_equal(unwind.chain, chain, sizeof(chain));
		test_unwind_close(&unwind);
	}
}

TEST(signed)
{
	open_program("arm64");
	sample.reg[LR] |= signature;
	for (size_t i = 0; i < sample.stack_len / 8; i++) {
		uint64_t v = trace_word(sample.stack, i);

		/* but for what the kernel put into the signal's frame: there nothing is signed */
		if (v > 0x400000 && v < 0x401000 && v != programs[0].chain[SIGNAL_AT])
			v |= signature;
		memcpy(sample.stack + 8 * i, &v, sizeof(v));
	}
	check_chain(programs[0].chain, NR_CHAIN, UNWIND_WHOLE);
	test_unwind_close(&unwind);
}

/* The stack cut at each of its words: fewer and fewer callers, and never others. */
TEST(cut)
{
	size_t nr = NR_CHAIN;

	open_program("arm64");
	for (size_t len = sample.stack_len & ~7ull; len; len -= 8) {
		sample.record.stack_len = len;
		test_unwind_run(&unwind, &sample);
		assert_true(unwind.nr <= nr);
		nr = unwind.nr;
		check_chain(programs[0].chain, nr, nr < NR_CHAIN ? UNWIND_TRUNCATED : UNWIND_WHOLE);
	}
	assert_int_equal(nr, 2); /* the sampled one, and what is in the register */
	test_unwind_close(&unwind);
}

/* A chain by frame pointers has none of these: they have no frames; up to the signal. */
TEST(to_chain)
{
	uint64_t out[NR_CHAIN];
	bool is_whole = true;

	open_program("arm64");
	assert_int_equal(unwind_to_chain(unwind.u, &unwind.process, 0, &sample.layout,
					 &sample.record, out, NR_CHAIN, &is_whole),
			 5);
	assert_false(is_whole);
	assert_memory_equal(out, programs[0].chain + 1, 4 * sizeof(*out));
	sample.reg[PC] = programs[0].chain[NR_CHAIN - 1];
	assert_int_equal(unwind_to_chain(unwind.u, &unwind.process, 0, &sample.layout,
					 &sample.record, out, NR_CHAIN, &is_whole),
			 0);
	assert_true(is_whole); /* nothing calls the outermost */
	test_unwind_close(&unwind);
}

/* A file of another machine than the recorder's: not looked into. */
TEST(other_machine)
{
	open_program("arm64");
	test_unwind_close(&unwind);
	assert_int_equal(test_unwind_open(&unwind, "x86_64"), 0);
	test_unwind_run(&unwind, &sample);
	assert_int_equal(unwind.nr, 1);
	assert_int_not_equal(unwind.end, UNWIND_WHOLE);
	test_unwind_close(&unwind);
}
