/*
 * Samples and tables that lie: any registers and stack over the real tables of this program, and
 * each byte of a program's tables changed. Whatever comes out ends within its room, for a reason.
 * And the rows' memory at its ceiling.
 */
#include "kit.h"
#include "paths.h"
#include "test_unwind.h"

#include "cfi/row.h"
#include "unwind/rows.h"

enum { HEAD_BYTES = 2 + 33 * 8 };

static struct test_sample sample;
static struct test_unwind unwind;

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* Often an address of code or of the stack, else anything. */
static uint64_t random_word(uint64_t *s, uint64_t sp)
{
	const struct profile_mapping *m = &unwind.lookup.mapping[next_random(s) % unwind.lookup.nr];

	switch (next_random(s) % 4) {
	case 0:
		return next_random(s);
	case 1:
		return sp + (next_random(s) % 512) * 8;
	default:
		return m->start + next_random(s) % (m->end - m->start);
	}
}

static void check_outcome(void)
{
	uint64_t lacking[8];
	bool is_whole;

	test_unwind_run(&unwind, &sample);
	assert_true(unwind.nr >= 1 && unwind.nr <= TEST_MAX_CHAIN && unwind.end <= UNWIND_MAX);
	assert_true(unwind.nr == TEST_MAX_CHAIN || unwind.end != UNWIND_MAX);
	assert_true(unwind_to_chain(unwind.u, &unwind.process, 0, &sample.layout, &sample.record,
				    lacking, NR(lacking), &is_whole) <= NR(lacking));
}

TEST(random)
{
	uint64_t seed = 88172645463325252ull, ends[UNWIND_MAX + 1] = {0};

	unwind = (struct test_unwind){0};
	test_map_self(&unwind.lookup);
	assert_int_equal(test_unwind_open(&unwind, TEST_MACHINE), 0);
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t sp = 0x7ffd00000000ull + next_random(&seed) % 4096 * 8;

		for (unsigned k = 0; k < 33; k++)
			sample.reg[k] = random_word(&seed, sp);
#if defined(__x86_64__)
		sample.reg[7] = sp;
#else
		sample.reg[31] = sp;
#endif
		sample.stack_len = 4096;
		for (unsigned k = 0; k < 512; k++) {
			uint64_t v = random_word(&seed, sp);

			memcpy(sample.stack + k * 8, &v, sizeof(v));
		}
		test_sample_init(&sample, TEST_REGS);
		check_outcome();
		ends[unwind.end]++;
	}
	test_unwind_close(&unwind);
	assert_true(ends[UNWIND_TRUNCATED] && ends[UNWIND_INVALID] && !ends[UNWIND_NO_REGS]);
}

/* The sample of the fuzz target's corpus: of a small x86-64 program, whose tables have a signal's
 * frame and an expression. */
static size_t load_small(uint8_t *bytes, size_t max, size_t *elf_at)
{
	FILE *f = fopen(SOURCE_DIR "/tests/fuzz/corpus/unwind/x86", "re");
	size_t len;

	assert_non_null(f);
	len = fread(bytes, 1, max, f);
	fclose(f);
	assert_true(len > HEAD_BYTES);
	*elf_at = HEAD_BYTES + 8 * (size_t)bytes[1];
	sample.stack_len = 8 * (size_t)bytes[1];
	memcpy(sample.reg, bytes + 2, 20 * 8);
	memcpy(sample.stack, bytes + HEAD_BYTES, sample.stack_len);
	test_sample_init(&sample, 0xff0fff);
	return len;
}

static void unwind_small(const uint8_t *elf, size_t len)
{
	unwind = (struct test_unwind){0};
	test_map(&unwind.lookup, 0x400000, 0x401000, 0, PROT_READ | PROT_EXEC, "[vdso]");
	if (elf_file_open_mem(elf, len, false, "small", &unwind.vdso, NULL) < 0)
		return;
	assert_int_equal(test_unwind_open(&unwind, "x86_64"), 0);
	check_outcome();
	test_unwind_close(&unwind);
	elf_file_close(unwind.vdso);
}

TEST(small)
{
	static const uint64_t chain[] = {0x4000cf, 0x4000ca, 0x4000bf, 0x4000b5};
	uint8_t bytes[4096];
	size_t elf_at, len = load_small(bytes, sizeof(bytes), &elf_at);

	unwind_small(bytes + elf_at, len - elf_at);
	assert_int_equal(unwind.nr, NR(chain));
	assert_memory_equal(unwind.chain, chain, sizeof(chain));
	assert_int_equal(unwind.end, UNWIND_WHOLE);
	assert_int_equal(unwind.exact[0], 3); /* the second was met by a signal */
}

TEST(each_byte)
{
	static const uint8_t with[] = {0xff, 0x01, 0x80, 0x2f};
	uint8_t bytes[4096], *changed;
	size_t elf_at, len = load_small(bytes, sizeof(bytes), &elf_at), size = len - elf_at;

	for (size_t at = 0; at < size; at++) {
		for (size_t i = 0; i < NR(with); i++) {
			changed = malloc(size); /* of its very size, for ASan */
			memcpy(changed, bytes + elf_at, size);
			changed[at] ^= with[i];
			unwind_small(changed, size);
			free(changed);
		}
		changed = malloc(at + 1);
		memcpy(changed, bytes + elf_at, at + 1);
		unwind_small(changed, at + 1);
		free(changed);
	}
}

/* Without any table, by hand: words of stack from SP on, and the frame pointer. */
enum { SP = 0x7000 };
static const struct {
	const char *what;
	uint64_t fp, words[4];
	size_t nr;
	enum unwind_end end;
} pointed[] = {
    {"to the chain's end", SP, {0, 0}, 1, UNWIND_WHOLE},
    {"to what is no code", SP, {SP + 16, 0x1234}, 1, UNWIND_NO_TABLE},
    {"to data", SP, {SP + 16, 0x600010}, 1, UNWIND_NO_TABLE},
    {"to code, and on to what is not", SP, {SP + 16, 0x400010, 0, 0x99}, 2, UNWIND_NO_TABLE},
    {"to code, and on to the end", SP, {SP + 16, 0x400010, 0, 0}, 2, UNWIND_WHOLE},
    {"nowhere: any number", 0, {0}, 1, UNWIND_NO_TABLE},
    {"to itself", SP, {SP, 0x400010, SP, 0x400010}, 2, UNWIND_NO_TABLE},
    {"below the stack", SP - 8, {0, 0x400010}, 1, UNWIND_NO_TABLE},
    {"not to a word", SP + 4, {0, 0x400010}, 1, UNWIND_NO_TABLE},
    {"across the end", SP + 24, {0, 0x400010}, 1, UNWIND_TRUNCATED},
    {"behind what was recorded", SP + 4096, {0}, 1, UNWIND_TRUNCATED},
    {"anywhere", 1ull << 46, {0}, 1, UNWIND_NO_TABLE},
};

TEST(pointers)
{
	unwind = (struct test_unwind){0};
	test_map(&unwind.lookup, 0x400000, 0x401000, 0, PROT_READ | PROT_EXEC, "//anon");
	test_map(&unwind.lookup, 0x600000, 0x601000, 0, PROT_READ | PROT_WRITE, "//anon");
	assert_int_equal(test_unwind_open(&unwind, "x86_64"), 0);
	for (size_t i = 0; i < NR(pointed); i++) {
		memset(sample.reg, 0, sizeof(sample.reg));
		sample.reg[6] = pointed[i].fp;
		sample.reg[7] = SP;
		sample.reg[8] = 0x400000;
		memcpy(sample.stack, pointed[i].words, sizeof(pointed[i].words));
		sample.stack_len = sizeof(pointed[i].words);
		test_sample_init(&sample, 0xff0fff);
		test_unwind_run(&unwind, &sample);
		if (unwind.nr != pointed[i].nr || unwind.end != pointed[i].end)
			fail_msg("%s: %zu, %s", pointed[i].what, unwind.nr,
				 unwind_end_name(unwind.end));
	}
	test_unwind_close(&unwind);
}

/* In a file whose tables do not speak of it, it marks the outermost. */
TEST(pointer_of_0)
{
	uint8_t bytes[4096];
	size_t elf_at, len = load_small(bytes, sizeof(bytes), &elf_at);

	sample.reg[6] = 0;
	sample.reg[8] = 0x400020; /* before its functions */
	unwind_small(bytes + elf_at, len - elf_at);
	assert_int_equal(unwind.nr, 1);
	assert_int_equal(unwind.end, UNWIND_WHOLE);
}

/* Steps that do not lead toward the stack's beginning. */
TEST(circles)
{
	static const struct {
		int64_t by;
		bool was_lr, is_exact, is_signal;
		enum cfi_end end;
	} steps[] = {
	    {16, false, false, false, CFI_GOES_ON}, {0, false, true, false, CFI_INVALID},
	    {0, true, false, false, CFI_INVALID},   {0, true, true, false, CFI_GOES_ON},
	    {-8, true, true, false, CFI_INVALID},   {-8, false, false, true, CFI_GOES_ON},
	};

	for (size_t i = 0; i < NR(steps); i++) {
		struct cfi_frame f = {.machine = &cfi_machine_aarch64,
				      .is_exact = steps[i].is_exact};
		struct cfi_arrival a = {.sp = SP + (uint64_t)steps[i].by,
					.ra = 0x400010,
					.ra_was_lr = steps[i].was_lr,
					.is_signal = steps[i].is_signal};

		cfi_frame_set(&f, f.machine->sp, SP);
		assert_int_equal(cfi_frame_arrive(&f, &a), steps[i].end);
	}
}

/* A file of another machine than the recorder's is not looked into. */
TEST(other_machine)
{
	uint8_t bytes[4096];
	size_t elf_at, len = load_small(bytes, sizeof(bytes), &elf_at);

	unwind = (struct test_unwind){0};
	test_map(&unwind.lookup, 0x400000, 0x401000, 0, PROT_READ | PROT_EXEC, "[vdso]");
	assert_int_equal(
	    elf_file_open_mem(bytes + elf_at, len - elf_at, false, "small", &unwind.vdso, NULL), 0);
	assert_int_equal(test_unwind_open(&unwind, "aarch64"), 0);
	for (size_t i = 0; i < 33; i++)
		sample.reg[i] = SP;
	sample.reg[29] = 1;
	sample.reg[32] = 0x4000cf;
	test_sample_init(&sample, (1ull << 33) - 1);
	test_unwind_run(&unwind, &sample);
	assert_int_equal(unwind.end, UNWIND_NO_TABLE);
	test_unwind_close(&unwind);
	elf_file_close(unwind.vdso);
}

TEST(rows)
{
	struct cfi_row row = {.kind = CFI_ROW_PLAIN};
	struct unwind_rows r;

	unwind_rows_init(&r);
	assert_null(unwind_rows_get(&r, 1, 2));
	for (uint64_t i = 0; i < UNWIND_MAX_ROWS; i++) {
		row.cfa_off = (int32_t)i;
		assert_non_null(unwind_rows_add(&r, i & 7, i << 20, &row));
	}
	for (uint64_t i = 0; i < UNWIND_MAX_ROWS; i++)
		assert_int_equal(unwind_rows_get(&r, i & 7, i << 20)->cfa_off, i);
	assert_null(unwind_rows_get(&r, 1, 0));
	assert_int_equal(r.nr, UNWIND_MAX_ROWS);
	assert_non_null(unwind_rows_add(&r, 9, 9, &row)); /* the ceiling: it begins anew */
	assert_int_equal(r.nr, 1);
	assert_null(unwind_rows_get(&r, 0, 0));
	assert_non_null(unwind_rows_get(&r, 9, 9));
	for (uint32_t i = 0; i < 40000; i++) { /* as of many small objects */
		row.cfa_off = (int32_t)i;
		assert_non_null(unwind_rows_add(&r, i, 0x1000, &row));
	}
	for (uint32_t i = 0; i < 40000; i++)
		assert_int_equal(unwind_rows_get(&r, i, 0x1000)->cfa_off, i);
	unwind_rows_fini(&r);
}
