/*
 * Rules of unwind tables: which fit into a row, what a step makes of each register, by a row as by
 * the rules, and the steps that need no table.
 */
#include "kit.h"

#include "cfi/rules.h"

enum { START = 0x7000, NR_WORDS = 8, FIRST_WORD = 0x1000, RBX = 3, RBP = 6, RSP = 7, RIP = 16 };

/* CFA: the stack pointer + 8; return address at -8. */
static struct cfi_rules rules_of(const struct cfi_machine *m)
{
	struct cfi_rules r = {.cfa = {.kind = CFI_RULE_REG, .off = m->sp, .plus = 8}, .ra = m->ra};

	r.reg[m->ra] = (struct cfi_rule){.kind = CFI_RULE_SAVED, .off = -8};
	return r;
}

/* A rule of a register in addition; reg of the CFA's: CFI_NO_REG. */
static const struct {
	const char *what;
	unsigned reg;
	struct cfi_rule rule;
	unsigned kind, nr_saved;
} rows[] = {
    {"none", RBX, {CFI_RULE_UNSAID}, CFI_ROW_PLAIN, 0},
    {"saved", RBX, {CFI_RULE_SAVED, -16}, CFI_ROW_PLAIN, 1},
    {"saved as far as fits", RBX, {CFI_RULE_SAVED, INT32_MIN}, CFI_ROW_PLAIN, 1},
    {"saved farther", RBX, {CFI_RULE_SAVED, INT32_MIN - (int64_t)1}, CFI_ROW_HARD, 0},
    {"same", RBX, {CFI_RULE_SAME}, CFI_ROW_PLAIN, 0},
    {"lost", RBX, {CFI_RULE_LOST}, CFI_ROW_HARD, 0},
    {"another register's", RBX, {CFI_RULE_REG, RBP}, CFI_ROW_HARD, 0},
    {"the stack pointer saved", RSP, {CFI_RULE_SAVED, -16}, CFI_ROW_HARD, 0},
    {"the stack pointer the same", RSP, {CFI_RULE_SAME}, CFI_ROW_HARD, 0},
    {"the return address lost", RIP, {CFI_RULE_LOST}, CFI_ROW_OUTERMOST, 0},
    {"the return address not named", RIP, {CFI_RULE_UNSAID}, CFI_ROW_HARD, 0},
    {"the return address in a register", RIP, {CFI_RULE_REG, RBX}, CFI_ROW_PLAIN, 0},
    {"the return address in none", RIP, {CFI_RULE_REG, 17}, CFI_ROW_HARD, 0},
    {"the return address far", RIP, {CFI_RULE_SAVED, INT32_MAX + (int64_t)1}, CFI_ROW_HARD, 0},
    {"CFA by the frame pointer", CFI_NO_REG, {CFI_RULE_REG, RBP, 16}, CFI_ROW_PLAIN, 0},
    {"CFA as far as fits", CFI_NO_REG, {CFI_RULE_REG, RSP, INT32_MAX}, CFI_ROW_PLAIN, 0},
    {"CFA farther", CFI_NO_REG, {CFI_RULE_REG, RSP, INT32_MAX + (int64_t)1}, CFI_ROW_HARD, 0},
    {"CFA by no register", CFI_NO_REG, {CFI_RULE_REG, 17}, CFI_ROW_HARD, 0},
    {"CFA by an expression", CFI_NO_REG, {CFI_RULE_VAL_EXPR}, CFI_ROW_HARD, 0},
};

TEST(rows)
{
	for (size_t i = 0; i < NR(rows); i++) {
		struct cfi_rules r = rules_of(&cfi_machine_x86_64);
		struct cfi_row row;

		print_message("%s\n", rows[i].what);
		*(rows[i].reg == CFI_NO_REG ? &r.cfa : &r.reg[rows[i].reg]) = rows[i].rule;
		cfi_rules_row(&r, &cfi_machine_x86_64, &row);
		assert_int_equal(row.kind, rows[i].kind);
		if (row.kind == CFI_ROW_PLAIN)
			assert_int_equal(row.nr_saved, rows[i].nr_saved);
	}
}

/* More saved registers than a row can store. */
TEST(many_saved)
{
	struct cfi_rules r = rules_of(&cfi_machine_aarch64);
	struct cfi_row row;

	for (unsigned nr = 1; nr <= CFI_MAX_SAVED + 2; nr++) {
		r.reg[nr] = (struct cfi_rule){.kind = CFI_RULE_SAVED, .off = -16};
		cfi_rules_row(&r, &cfi_machine_aarch64, &row);
		assert_int_equal(row.kind, nr <= CFI_MAX_SAVED ? CFI_ROW_PLAIN : CFI_ROW_HARD);
	}
}

static struct cfi_frame frame_of(const struct cfi_machine *m, bool is_exact)
{
	static uint64_t words[NR_WORDS];
	struct cfi_frame f = {.machine = m,
			      .stack = {(const uint8_t *)words, START, sizeof(words)},
			      .pc = 0x400123,
			      .is_exact = is_exact};

	for (unsigned i = 0; i < NR_WORDS; i++)
		words[i] = FIRST_WORD + i;
	for (unsigned i = 0; i < m->nr_regs; i++)
		cfi_frame_set(&f, i, 100 + i);
	cfi_frame_set(&f, m->sp, START);
	return f;
}

/* One step, by the row or by the rules. */
static struct cfi_frame step(const struct cfi_rules *r, const struct cfi_frame *from, bool by_row)
{
	struct cfi_frame f = *from;
	struct cfi_row row;

	cfi_rules_row(r, f.machine, &row);
	assert_int_equal(row.kind, CFI_ROW_PLAIN);
	assert_int_equal(by_row ? cfi_row_apply(&row, &f) : cfi_rules_apply(r, &f), CFI_GOES_ON);
	return f;
}

/* Where rbx is saved from the CFA (START + 8); 0: nowhere. */
static const struct {
	const char *what;
	int off;
	bool is_exact, is_known;
	uint64_t value;
} saved[] = {
    {"not saved", 0, false, true, 100 + RBX},
    {"on the stack", 8, false, true, FIRST_WORD + 2},
    {"on the stack, of the sampled function", 8, true, true, FIRST_WORD + 2},
    {"restored already", -16, true, true, 100 + RBX},
    {"below the stack pointer, of a caller", -16, false, false, 0},
    {"behind the recorded bytes", 8 * NR_WORDS - 8, true, false, 0},
};

TEST(saved)
{
	for (size_t i = 0; i < 2 * NR(saved); i++) {
		const struct cfi_frame from = frame_of(&cfi_machine_x86_64, saved[i / 2].is_exact);
		struct cfi_rules r = rules_of(&cfi_machine_x86_64);
		struct cfi_frame f;
		uint64_t value = 0;

		print_message("%s, %s\n", saved[i / 2].what, i % 2 ? "by the row" : "by the rules");
		if (saved[i / 2].off)
			r.reg[RBX] =
			    (struct cfi_rule){.kind = CFI_RULE_SAVED, .off = saved[i / 2].off};
		f = step(&r, &from, i % 2);
		assert_int_equal(f.pc, FIRST_WORD);
		assert_int_equal(f.reg[RSP], START + 8);
		assert_false(f.is_exact);
		assert_int_equal(cfi_frame_reg(&f, RBX, &value), saved[i / 2].is_known);
		assert_int_equal(value, saved[i / 2].value);
	}
}

/* Of a function that a signal interrupted, what is below its stack pointer is the handler's. */
TEST(saved_before_signal)
{
	for (int i = 0; i < 2; i++) {
		struct cfi_frame from = frame_of(&cfi_machine_x86_64, true);
		struct cfi_rules r = rules_of(&cfi_machine_x86_64);
		struct cfi_frame f;

		cfi_frame_set(&from, RSP, START + 16);
		r.reg[RBX] = (struct cfi_rule){.kind = CFI_RULE_SAVED, .off = -16};
		f = step(&r, &from, i);
		assert_int_equal(f.pc, FIRST_WORD + 2);
		assert_int_equal(f.reg[RBX], 100 + RBX);
	}
}

/* A call preserves these registers, by the psABIs; the others are unknown in the caller. */
TEST(callee_saved)
{
	static const struct {
		const struct cfi_machine *machine;
		unsigned reg[12], nr;
	} machines[] = {
	    {&cfi_machine_x86_64, {RBX, RBP, RSP, 12, 13, 14, 15}, 7},
	    {&cfi_machine_i386, {3, 4, 5, 6, 7}, 5},
	    {&cfi_machine_aarch64, {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 31}, 12},
	};

	for (size_t i = 0; i < 2 * NR(machines); i++) {
		const struct cfi_machine *m = machines[i / 2].machine;
		const struct cfi_frame from = frame_of(m, true);
		const struct cfi_rules r = rules_of(m);
		struct cfi_frame f = step(&r, &from, i % 2);
		uint64_t known = 0;

		for (unsigned k = 0; k < machines[i / 2].nr; k++)
			known |= UINT64_C(1) << machines[i / 2].reg[k];
		assert_int_equal(f.known, known);
	}
}

/* An interrupted function without a frame, whose return address is in its register: of arm64 each
 * function that calls none. What called it must have one. */
TEST(without_frame)
{
	const struct cfi_machine *m = &cfi_machine_aarch64;
	static const uint8_t kinds[] = {CFI_RULE_UNSAID, CFI_RULE_SAME};
	struct cfi_rules r = {.cfa = {.kind = CFI_RULE_REG, .off = m->sp}, .ra = m->ra};
	struct cfi_row row;

	for (size_t i = 0; i < 2 * NR(kinds); i++) {
		struct cfi_frame from = frame_of(m, true), f;

		r.reg[m->ra].kind = kinds[i / 2];
		f = step(&r, &from, i % 2);
		assert_int_equal(f.pc, 100 + m->lr);
		assert_int_equal(f.reg[m->sp], START);
		assert_false(f.is_exact);
		from.is_exact = false;
		f = from;
		cfi_rules_row(&r, m, &row);
		assert_int_equal(i % 2 ? cfi_row_apply(&row, &f) : cfi_rules_apply(&r, &f),
				 CFI_INVALID);
	}
	r.reg[m->ra] = (struct cfi_rule){.kind = CFI_RULE_SAVED, .off = 8};
	for (size_t i = 0; i < 2; i++) {
		struct cfi_frame f = frame_of(m, true);

		cfi_rules_row(&r, m, &row);
		assert_int_equal(i ? cfi_row_apply(&row, &f) : cfi_rules_apply(&r, &f),
				 CFI_INVALID);
	}
}

/* The bits above an address of arm64 can hold a signature. */
#define SIGNATURE 0xff5a000000000000

static const struct {
	const char *what;
	uint64_t fp, word; /* word: of the return address; 0: as it is */
	enum cfi_end end;
} pointers[] = {
    {"a frame", START + 8, 0, CFI_GOES_ON},
    {"a frame at the stack pointer", START, 0, CFI_GOES_ON},
    {"the last whole one", START + 8 * (NR_WORDS - 2), 0, CFI_GOES_ON},
    {"signed", START + 8, SIGNATURE | 0x1234, CFI_GOES_ON},
    {"the outermost", START + 8, SIGNATURE, CFI_WHOLE},
    {"cut in two", START + 8 * (NR_WORDS - 1), 0, CFI_TRUNCATED},
    {"below the stack pointer", START - 8, 0, CFI_NO_TABLE},
    {"not aligned", START + 4, 0, CFI_NO_TABLE},
    {"elsewhere", UINT64_MAX - 7, 0, CFI_NO_TABLE},
};

TEST(by_pointer)
{
	const struct cfi_machine *m = &cfi_machine_aarch64;

	for (size_t i = 0; i < NR(pointers); i++) {
		struct cfi_frame f = frame_of(m, true);
		uint64_t at = (pointers[i].fp - START) / 8, word = pointers[i].word;

		print_message("%s\n", pointers[i].what);
		cfi_frame_set(&f, m->fp, pointers[i].fp);
		if (word)
			memcpy((void *)(uintptr_t)(f.stack.bytes + 8 * at + 8), &word, 8);
		assert_int_equal(cfi_frame_by_pointer(&f), pointers[i].end);
		if (pointers[i].end != CFI_GOES_ON)
			continue;
		assert_int_equal(f.pc, word ? word & ~SIGNATURE : FIRST_WORD + at + 1);
		assert_int_equal(f.reg[m->fp], FIRST_WORD + at);
		assert_int_equal(f.reg[m->sp], pointers[i].fp + 16);
		assert_int_equal(f.known, UINT64_C(1) << m->fp | UINT64_C(1) << m->sp);
		assert_false(f.is_exact);
		assert_int_equal(cfi_frame_lookup(&f), f.pc - 1);
	}
}
