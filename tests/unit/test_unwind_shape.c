/*
 * Callers of code of HotSpot, for samples made by hand: compiled methods at each part of their
 * frame, interpreted ones, stubs and the stub that calls Java; and that no caller is found that is
 * not proven.
 */
#include "kit.h"

#include "test_unwind.h"

enum {
	STACK = 0x7000,
	METHOD = 0x10000, /* compiled; with ends of its frame */
	OTHER = 0x11000,  /* compiled; it is not known where its frame is taken down */
	INTERPRETER = 0x12000,
	STUBS = 0x13000,
	NAMELESS = 0x14000, /* made, and not known */
	END = 0x15000,
	LIBRARY = 0x20000,
	FRAME = 0x20,
	HAS_FRAME = 0x10, /* from there on */
	RETURN = 0x44,    /* of a call */
	POP = 0x80,       /* the end of the frame */
	CALL_STUB = 0xc9,
	A = 0x3000, /* what describes methods */
	B = 0x3100,
	CODES = 0x4000, /* bytecodes of A; of B further */
	CODES_BYTES = 0x20,
	CODE_ADDRESS = 0x40, /* of what stands for a method: this, and the bytecode */
	X86_REGS = 0xff0fff,
	WORDS = 64,
};

static struct test_unwind unwind;
static struct test_sample sample;
static uint64_t words[WORDS]; /* of the stack */

static const uint32_t with_ends[] = {0 << 2 | UNWIND_POINT_ADDRESS,
				     1 << 2 | UNWIND_POINT_POINTER,
				     5 << 2 | UNWIND_POINT_WHOLE,
				     RETURN << 2 | UNWIND_POINT_RETURN,
				     POP << 2 | UNWIND_POINT_POINTER,
				     (POP + 1) << 2 | UNWIND_POINT_ADDRESS,
				     (POP + 9) << 2 | UNWIND_POINT_WHOLE},
		      without[] = {RETURN << 2 | UNWIND_POINT_RETURN},
		      call_stub[] = {CALL_STUB << 2 | UNWIND_POINT_RETURN};

#define POINTS(p) .points = (const uint8_t *)(p), .nr_points = NR(p)
static const struct unwind_shape shapes[] = {
    {UNWIND_SHAPE_METHOD, METHOD, FRAME, HAS_FRAME, POINTS(with_ends)},
    {UNWIND_SHAPE_METHOD, OTHER, FRAME, HAS_FRAME, POINTS(without)},
    {UNWIND_SHAPE_INTERPRETER, INTERPRETER, 0, 0, NULL, 0},
    {UNWIND_SHAPE_STUB, STUBS, 0, 0, POINTS(call_stub)},
};

static bool find_made(void *arg, const struct unwind_mapping *mapping, uint64_t address,
		      uint64_t time_ns, struct unwind_made *out)
{
	(void)arg;
	(void)mapping;
	(void)time_ns;
	*out = (struct unwind_made){.name = "f", .address = address};
	for (size_t i = 0; i < NR(shapes); i++)
		if (address >= shapes[i].start && address < shapes[i].start + 0x1000)
			out->shape = shapes[i];
	return address < NAMELESS;
}

static bool find_method(void *arg, const struct unwind_mapping *mapping, uint64_t method,
			uint64_t bcp, uint64_t time_ns, uint64_t *address)
{
	const uint64_t codes = method == A ? CODES : CODES + CODES_BYTES;

	(void)arg;
	(void)time_ns;
	assert_int_equal(mapping->kind, UNWIND_OBJECT_MEMORY);
	*address = (method == A ? 0xa000 : 0xb000) + CODE_ADDRESS + bcp - codes;
	return (method == A || method == B) && bcp - codes < CODES_BYTES;
}

HOOK(before_each)
{
	unwind = (struct test_unwind){.find_made = find_made, .find_method = find_method};
	memset(words, 0, sizeof(words));
	assert_int_equal(test_unwind_open(&unwind, "x86_64"), 0);
	test_map(&unwind.lookup, METHOD, END, 0, PROT_READ | PROT_EXEC, "anon");
	test_map(&unwind.lookup, LIBRARY, LIBRARY + 0x1000, 0, PROT_READ | PROT_EXEC,
		 "/nowhere/libjvm.so");
}

HOOK(after_each)
{
	test_unwind_close(&unwind);
}

static uint64_t at(size_t word)
{
	return STACK + 8 * word;
}

static void run(uint64_t pc, uint64_t fp, uint64_t r13)
{
	memset(sample.reg, 0, sizeof(sample.reg));
	sample.reg[6] = fp; /* by the kernel's order */
	sample.reg[7] = STACK;
	sample.reg[8] = pc;
	sample.reg[17] = r13;
	memcpy(sample.stack, words, sizeof(words));
	sample.stack_len = sizeof(words);
	test_sample_init(&sample, X86_REGS);
	test_unwind_run(&unwind, &sample);
}

static void expect(const uint64_t *chain, size_t nr, enum unwind_end end)
{
	if (unwind.nr != nr)
		fail_msg("%zu of %zu addresses", unwind.nr, nr);
	for (size_t i = 0; i < nr; i++)
		if (unwind.chain[i] != chain[i])
			fail_msg("[%zu] is %#llx", i, (unsigned long long)unwind.chain[i]);
	assert_int_equal(unwind.end, end);
}

/* A frame of the interpreter with its pointer at a word. */
static void put_interpreted(size_t fp, uint64_t method, uint64_t bytecode, uint64_t sender_sp,
			    uint64_t caller_fp, uint64_t caller)
{
	words[fp + 1] = caller;
	words[fp] = caller_fp;
	words[fp - 1] = sender_sp;
	words[fp - 3] = method;
	words[fp - 8] = bytecode;
}

/* From a word on: a compiled method, whose return address is at the end of its frame, was called by
 * an interpreted one, that by the stub, and that by C++. */
static void put_callers(size_t behind, size_t fp)
{
	words[behind - 1] = INTERPRETER + 0x70;
	if (behind > 1) /* else it is in its register */
		words[behind - 2] = at(fp);
	put_interpreted(fp, A, CODES + 5, at(fp + 2), at(fp + 4), STUBS + CALL_STUB);
	words[fp + 4] = 77;
	words[fp + 5] = LIBRARY + 0x50;
}
static const uint64_t callers[] = {0, INTERPRETER + 0x70, STUBS + CALL_STUB, LIBRARY + 0x50};

static void expect_callers(uint64_t pc)
{
	uint64_t chain[] = {pc, 0xa000 + CODE_ADDRESS + 5, callers[2], callers[3]};

	expect(chain, NR(chain), UNWIND_NO_TABLE);
	assert_true(unwinder_refutes_chain(unwind.u));
	assert_true(unwind.exact[0] & 2); /* what stands for the method is no return address */
	assert_false(unwind.exact[0] & 4);
}

/* At each part of the frame. A stale address that would be proven lies in the frame, where it is
 * taken for none. */
TEST(method)
{
	static const struct {
		uint64_t pc;
		size_t end; /* of what is left of the frame, in words */
	} parts[] = {{METHOD, 1},           {METHOD + 1, 2},      {METHOD + HAS_FRAME, 4},
		     {METHOD + POP - 1, 4}, {METHOD + POP, 2},    {METHOD + POP + 1, 1},
		     {METHOD + POP + 8, 1}, {METHOD + POP + 9, 4}};

	for (size_t i = 0; i < NR(parts); i++) {
		memset(words, 0, sizeof(words));
		if (parts[i].end == 4)
			words[0] = OTHER + RETURN;
		else
			words[3] = OTHER + RETURN;
		put_callers(parts[i].end, 30);
		run(parts[i].pc, parts[i].end == 1 ? at(30) : 99, 0);
		expect_callers(parts[i].pc);
	}
}

/* The frame is there, and its pointer still in the register: what lies at its place is stale. With
 * a frame pointer of its own, it is stored. */
TEST(new_frame)
{
	const uint64_t pc = METHOD + 5;

	put_callers(4, 30);
	words[2] = at(40);
	run(pc, at(30), 0);
	expect_callers(pc);
	words[2] = at(30);
	run(pc, at(2), 0);
	expect_callers(pc);
}

/* Where it is not known how the frame is made and taken down: one of the places has a proven
 * address; if two have, none is believed. */
TEST(unknown_part)
{
	static const struct {
		uint64_t pc;
		size_t end,
		    stale; /* words: of the frame; of another address. 0: there is no place */
	} rows[] = {
	    {OTHER + 1, 1, 1}, {OTHER + 1, 2, 0}, {OTHER + 0x50, 4, 1}, {OTHER + 0x50, 2, 3}};

	for (size_t i = 0; i < NR(rows); i++) {
		const uint64_t fp = rows[i].end == 1 ? at(30) : 99;

		memset(words, 0, sizeof(words));
		put_callers(rows[i].end, 30);
		run(rows[i].pc, fp, 0);
		expect_callers(rows[i].pc);
		if (!rows[i].stale)
			continue;
		words[rows[i].stale] = OTHER + RETURN;
		run(rows[i].pc, fp, 0);
		expect(&rows[i].pc, 1, UNWIND_UNPROVEN);
	}
}

/* Return addresses that are near what is known, and not that. */
TEST(not_proven)
{
	static const uint64_t wrong[] = {
	    METHOD + RETURN + 1, METHOD + RETURN - 1, METHOD + POP, STUBS + CALL_STUB + 1,
	    NAMELESS + 5,        LIBRARY + 0x50,      END + 5,      0};
	const uint64_t pc = METHOD + 0x20;

	for (size_t i = 0; i < NR(wrong); i++) {
		put_callers(4, 30);
		words[3] = wrong[i];
		run(pc, 99, 0);
		expect(&pc, 1, UNWIND_UNPROVEN);
	}
}

/* The interpreter is proven by the method of its frame. */
TEST(no_method)
{
	static const struct {
		size_t word;
		uint64_t value;
	} wrong[] = {{27, A + 8}, {27, 0}, {22, CODES - 1}, {22, CODES + CODES_BYTES}, {2, 12345}};
	const uint64_t pc = METHOD + 0x20;

	for (size_t i = 0; i < NR(wrong); i++) {
		put_callers(4, 30);
		words[wrong[i].word] = wrong[i].value;
		run(pc, 99, 0);
		expect(&pc, 1, UNWIND_UNPROVEN);
	}
}

/* Methods call each other through compiled ones, whose stack pointer is that which was saved, and
 * not where the frame ends: arguments lie between. */
TEST(interpreted)
{
	const uint64_t chain[] = {0xb000 + CODE_ADDRESS + 7, METHOD + RETURN,
				  0xa000 + CODE_ADDRESS + 5, STUBS + CALL_STUB, LIBRARY + 0x50};

	put_interpreted(12, B, 0, at(18), 99, METHOD + RETURN);
	put_callers(22, 36);
	run(INTERPRETER + 0x30, at(12), CODES + CODES_BYTES + 7);
	expect(chain, NR(chain), UNWIND_NO_TABLE);
	assert_int_equal(unwind.exact[0], 1 | 4);
}

/* Before a method has its frame, the one below is its caller's; then its pointer is set, and what
 * is below not yet. */
TEST(entry)
{
	const uint64_t pc = INTERPRETER + 0x30;

	put_callers(1, 30);
	run(pc, at(30), at(40));
	expect_callers(pc);
	put_callers(2, 30);
	run(pc, at(30), at(40));
	expect_callers(pc);
	memset(words, 0, sizeof(words));
	put_callers(6, 30); /* the pointer is at word 4 */
	run(pc, at(4), at(6));
	expect_callers(pc);
}

/* Leaves of stubs have frames of any kind, or none. */
TEST(stub)
{
	const uint64_t pc = STUBS + 0x400;

	const uint64_t chain[] = {pc, METHOD + RETURN, 0xa000 + CODE_ADDRESS + 5, callers[2],
				  callers[3]};

	words[0] = METHOD + RETURN;
	put_callers(5, 30);
	run(pc, 99, 0);
	expect(chain, NR(chain), UNWIND_NO_TABLE);
	memset(words, 0, sizeof(words));
	put_callers(12, 30);
	run(pc, at(10), 0);
	expect_callers(pc);
}

/* What lies beyond the bytes of the sample is truncated, and not unproven. */
TEST(truncated)
{
	const uint64_t chain[] = {METHOD + 0x20, METHOD + RETURN};
	const uint64_t pc = METHOD + 0x20;

	words[2] = at(WORDS + 4);
	words[3] = INTERPRETER + 0x70;
	run(pc, 0, 0);
	expect(&pc, 1, UNWIND_TRUNCATED);
	words[3] = METHOD + RETURN;
	for (size_t i = 7; i < WORDS; i += 4)
		words[i] = METHOD + RETURN;
	run(pc, 0, 0);
	assert_int_equal(unwind.nr, 1 + WORDS / 4);
	assert_memory_equal(unwind.chain, chain, sizeof(chain));
	assert_int_equal(unwind.end, UNWIND_TRUNCATED);
}

/* Whatever lies on the stack. */
TEST(hostile)
{
	uint32_t seed = 1;

	for (int i = 0; i < 20000; i++) {
		static const uint64_t some[] = {METHOD, OTHER, INTERPRETER, STUBS,  NAMELESS,
						A,      CODES, STACK,       LIBRARY};

		for (size_t k = 0; k < WORDS; k++) {
			seed = seed * 1103515245 + 12345;
			words[k] = some[(seed >> 16) % NR(some)] + (seed >> 20) % 0x200;
		}
		run(some[i % 5] + (seed >> 8) % 0x100, STACK + (seed >> 12) % 0x300, words[0]);
		assert_true(unwind.nr >= 1 && unwind.nr <= WORDS + 2);
	}
}
