/*
 * Expressions of unwind tables: each operation, and those that would do harm: endless, too deep,
 * cut off, dividing what cannot be divided, reading outside of the stack. And programs of tables.
 */
#include "kit.h"
#include "test_unwind.h"

#include "cfi/bytes.h"
#include "cfi/program.h"

enum { SP = 0x7000, INVALID = CFI_INVALID, CUT = CFI_TRUNCATED };

/* In bytes: operations by their codes. */
#define E(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define C8(v)  0x0e, B8(v)
#define B8(v)                                                                                      \
	(uint8_t)(v), (uint8_t)((v) >> 8), (uint8_t)((v) >> 16), (uint8_t)((v) >> 24),             \
	    (uint8_t)((v) >> 32), (uint8_t)((v) >> 40), (uint8_t)((v) >> 48), (uint8_t)((v) >> 56)
#define LEAST 0x8000000000000000ull

static const struct {
	const char *what;
	const uint8_t *bytes;
	size_t len;
	uint64_t value;
	int end; /* 0: it goes well */
} exprs[] = {
    {"lit0", E(0x30), 0, 0},
    {"lit31", E(0x4f), 31, 0},
    {"const1u", E(0x08, 0xff), 255, 0},
    {"const1s", E(0x09, 0xff), UINT64_MAX, 0},
    {"const2u", E(0x0a, 0xff, 0xff), 65535, 0},
    {"const2s", E(0x0b, 0xfe, 0xff), (uint64_t)-2, 0},
    {"const4u", E(0x0c, 0xff, 0xff, 0xff, 0xff), 0xffffffff, 0},
    {"const4s", E(0x0d, 0xfd, 0xff, 0xff, 0xff), (uint64_t)-3, 0},
    {"const8u", E(C8(0x0102030405060708ull)), 0x0102030405060708ull, 0},
    {"constu", E(0x10, 0xe5, 0x8e, 0x26), 624485, 0},
    {"consts", E(0x11, 0xc0, 0xbb, 0x78), (uint64_t)-123456, 0},
    {"dup", E(0x33, 0x12, 0x22), 6, 0},
    {"drop", E(0x33, 0x34, 0x13), 3, 0},
    {"over", E(0x33, 0x34, 0x14, 0x1c), 1, 0},
    {"pick", E(0x33, 0x34, 0x35, 0x15, 2), 3, 0},
    {"swap", E(0x33, 0x35, 0x16, 0x1c), 2, 0},
    {"rot", E(0x31, 0x32, 0x33, 0x17, 0x13), 1, 0},
    {"abs", E(0x09, 0xfb, 0x19), 5, 0},
    {"and", E(0x3c, 0x3a, 0x1a), 8, 0},
    {"div", E(0x09, 0xf9, 0x32, 0x1b), (uint64_t)-3, 0},
    {"minus", E(0x33, 0x35, 0x1c), (uint64_t)-2, 0},
    {"mod", E(0x37, 0x34, 0x1d), 3, 0},
    {"mul", E(0x37, 0x34, 0x1e), 28, 0},
    {"neg", E(0x37, 0x1f), (uint64_t)-7, 0},
    {"not", E(0x37, 0x20), ~7ull, 0},
    {"or", E(0x35, 0x32, 0x21), 7, 0},
    {"plus", E(0x35, 0x32, 0x22), 7, 0},
    {"plus_uconst", E(0x35, 0x23, 0x85, 1), 138, 0},
    {"shl", E(0x33, 0x34, 0x24), 48, 0},
    {"shl of too much", E(0x33, 0x08, 64, 0x24), 0, 0},
    {"shr", E(0x09, 0xff, 0x08, 60, 0x25), 15, 0},
    {"shr of too much", E(0x33, 0x08, 200, 0x25), 0, 0},
    {"shra", E(0x09, 0xf0, 0x32, 0x26), (uint64_t)-4, 0},
    {"shra of nothing", E(0x09, 0xf0, 0x30, 0x26), (uint64_t)-16, 0},
    {"shra of too much", E(0x09, 0xf0, 0x08, 99, 0x26), UINT64_MAX, 0},
    {"xor", E(0x35, 0x31, 0x27), 4, 0},
    {"eq", E(0x35, 0x35, 0x29), 1, 0},
    {"ge", E(0x35, 0x36, 0x2a), 0, 0},
    {"gt is signed", E(0x35, 0x09, 0xff, 0x2b), 1, 0},
    {"le", E(0x35, 0x35, 0x2c), 1, 0},
    {"lt", E(0x35, 0x36, 0x2d), 1, 0},
    {"ne", E(0x35, 0x36, 0x2e), 1, 0},
    {"nop", E(0x35, 0x96), 5, 0},
    {"skip", E(0x31, 0x2f, 1, 0, 0x35, 0x96), 1, 0},
    {"skip to the end", E(0x31, 0x2f, 0, 0), 1, 0},
    {"bra taken", E(0x31, 0x32, 0x28, 1, 0, 0x35), 1, 0},
    {"bra not taken", E(0x31, 0x30, 0x28, 1, 0, 0x35), 5, 0},
    {"a loop that ends", E(0x35, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff), 0, 0},
    {"breg7", E(0x77, 8), SP + 8, 0},
    {"bregx", E(0x92, 7, 0x78), SP - 8, 0},
    {"breg16: the program counter", E(0x80, 0), 0x400123, 0},
    {"a stub's CFA", E(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22), SP + 8, 0},
    {"deref", E(0x77, 8, 0x06), 0x1111111111111111ull, 0},
    {"deref_size", E(0x77, 8, 0x94, 2), 0x1111, 0},

    {"nothing", NULL, 0, 0, INVALID},
    {"drop the only one", E(0x33, 0x13), 0, INVALID},
    {"plus of one", E(0x33, 0x22), 0, INVALID},
    {"pick too deep", E(0x33, 0x15, 1), 0, INVALID},
    {"rot of two", E(0x33, 0x33, 0x17), 0, INVALID},
    {"div by 0", E(0x33, 0x30, 0x1b), 0, INVALID},
    {"mod by 0", E(0x33, 0x30, 0x1d), 0, INVALID},
    {"div of the least by -1", E(C8(LEAST), 0x09, 0xff, 0x1b), 0, INVALID},
    {"skip to itself", E(0x31, 0x2f, 0xfd, 0xff), 0, INVALID},
    {"skip before the beginning", E(0x31, 0x2f, 0xf0, 0xff), 0, INVALID},
    {"skip behind the end", E(0x31, 0x2f, 2, 0, 0x96), 0, INVALID},
    {"ever deeper", E(0x31, 0x12, 0x2f, 0xfc, 0xff), 0, INVALID},
    {"cut: const2u", E(0x0a, 1), 0, INVALID},
    {"cut: constu", E(0x10, 0x80), 0, INVALID},
    {"cut: bregx", E(0x92, 7), 0, INVALID},
    {"constu without end",
     E(0x10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
       0x80, 0x80, 0x80, 0x80, 0),
     0, INVALID},
    {"a register that is not known", E(0x71, 0), 0, INVALID},
    {"a register that there is not", E(0x92, 0xff, 0x7f, 0), 0, INVALID},
    {"deref below the stack", E(0x77, 0x78, 0x06), 0, INVALID},
    {"deref behind what was recorded", E(0x77, 0x10, 0x06), 0, CUT},
    {"deref across the end", E(0x77, 0x0c, 0x06), 0, CUT},
    {"deref_size of 9", E(0x77, 0, 0x94, 9), 0, INVALID},
    {"deref_size of 0", E(0x77, 0, 0x94, 0), 0, INVALID},
    {"no operation", E(0x00), 0, INVALID},
    {"of an object", E(0x97), 0, INVALID},
    {"of the vendor", E(0xe0), 0, INVALID},
};

static struct cfi_frame frame_of(const uint8_t *stack, size_t len)
{
	struct cfi_frame f = {
	    .machine = &cfi_machine_x86_64, .stack = {stack, SP, len}, .pc = 0x400123};

	cfi_frame_set(&f, 7, SP);
	return f;
}

TEST(exprs)
{
	static const uint8_t stack[16] = {[8 ... 15] = 0x11};
	const struct cfi_frame f = frame_of(stack, sizeof(stack));

	for (size_t i = 0; i < NR(exprs); i++) {
		struct cfi_expr e = {exprs[i].bytes, exprs[i].len};
		uint64_t v = 0xabcdef;
		enum cfi_end end = cfi_expr_run(&e, &f, NULL, &v);

		if ((int)end != exprs[i].end || v != (exprs[i].end ? 0xabcdef : exprs[i].value))
			fail_msg("%s: %d, %lx", exprs[i].what, end, (unsigned long)v);
	}
}

TEST(cfa_first)
{
	static const uint8_t plus8[] = {0x38, 0x22};
	const struct cfi_frame f = frame_of(plus8, sizeof(plus8));
	const struct cfi_expr e = {plus8, sizeof(plus8)};
	uint64_t cfa = 100, v = 0;

	assert_int_equal(cfi_expr_run(&e, &f, &cfa, &v), CFI_GOES_ON);
	assert_int_equal(v, 108);
	assert_int_equal(cfi_expr_run(&e, &f, NULL, &v), CFI_INVALID);
}

/* Programs: behind a common one that says: CFA rsp+8, return address at -8. Asked for what holds at
 * the function's beginning and 10. */
static const struct {
	const char *what;
	const uint8_t *bytes;
	size_t len;
	bool is_wrong;
	uint8_t cfa_reg, kind; /* of rbx (3) */
	int64_t cfa_off, off;
} programs[] = {
    {"nothing", NULL, 0, false, 7, CFI_RULE_UNSAID, 8, 0},
    {"nop", E(0, 0, 0), false, 7, CFI_RULE_UNSAID, 8, 0},
    {"advance to it", E(0x4a, 0x0e, 16), false, 7, CFI_RULE_UNSAID, 16, 0},
    {"advance beyond", E(0x4b, 0x0e, 16), false, 7, CFI_RULE_UNSAID, 8, 0},
    {"advance1", E(0x02, 10, 0x0e, 16), false, 7, CFI_RULE_UNSAID, 16, 0},
    {"advance2", E(0x03, 10, 0, 0x0e, 16), false, 7, CFI_RULE_UNSAID, 16, 0},
    {"advance4", E(0x04, 10, 0, 0, 0, 0x0e, 16), false, 7, CFI_RULE_UNSAID, 16, 0},
    {"advance4, far", E(0x04, 255, 255, 255, 255, 0x0e, 16), false, 7, CFI_RULE_UNSAID, 8, 0},
    {"set_loc", E(0x01, B8(0x1009ull), 0x0e, 16), false, 7, CFI_RULE_UNSAID, 16, 0},
    {"set_loc beyond", E(0x01, B8(0x1010ull), 0x0e, 16), false, 7, CFI_RULE_UNSAID, 8, 0},
    {"offset", E(0x83, 2), false, 7, CFI_RULE_SAVED, 8, -16},
    {"offset_extended", E(0x05, 3, 3), false, 7, CFI_RULE_SAVED, 8, -24},
    {"offset_extended_sf", E(0x11, 3, 0x7f), false, 7, CFI_RULE_SAVED, 8, 8},
    {"negative_offset_extended", E(0x2f, 3, 2), false, 7, CFI_RULE_SAVED, 8, 16},
    {"val_offset", E(0x14, 3, 2), false, 7, CFI_RULE_CFA, 8, -16},
    {"val_offset_sf", E(0x15, 3, 0x7e), false, 7, CFI_RULE_CFA, 8, 16},
    {"restore", E(0x83, 2, 0xc3), false, 7, CFI_RULE_UNSAID, 8, 0},
    {"restore of the common's", E(0x90, 2, 0xd0), false, 7, CFI_RULE_UNSAID, 8, 0},
    {"restore_extended", E(0x83, 2, 0x06, 3), false, 7, CFI_RULE_UNSAID, 8, 0},
    {"undefined", E(0x07, 3), false, 7, CFI_RULE_LOST, 8, 0},
    {"same_value", E(0x08, 3), false, 7, CFI_RULE_SAME, 8, 0},
    {"register", E(0x09, 3, 12), false, 7, CFI_RULE_REG, 8, 12},
    {"expression", E(0x10, 3, 1, 0x30), false, 7, CFI_RULE_EXPR, 8, 0},
    {"val_expression", E(0x16, 3, 1, 0x30), false, 7, CFI_RULE_VAL_EXPR, 8, 0},
    {"def_cfa", E(0x0c, 6, 16), false, 6, CFI_RULE_UNSAID, 16, 0},
    {"def_cfa_sf", E(0x12, 6, 0x7e), false, 6, CFI_RULE_UNSAID, 16, 0},
    {"def_cfa_register", E(0x0d, 6), false, 6, CFI_RULE_UNSAID, 8, 0},
    {"def_cfa_offset_sf", E(0x13, 0x7d), false, 7, CFI_RULE_UNSAID, 24, 0},
    {"remembered", E(0x0a, 0x83, 2, 0x0e, 99, 0x0b), false, 7, CFI_RULE_UNSAID, 8, 0},
    {"args_size", E(0x2e, 8), false, 7, CFI_RULE_UNSAID, 8, 0},
    {"registers that are not kept", E(0x05, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0x07, 99, 0x06, 98),
     false, 7, CFI_RULE_UNSAID, 8, 0},

    {"unknown", E(0x3f), true, 0, 0, 0, 0},
    {"unknown, known before", E(0x1d), true, 0, 0, 0, 0},
    {"cut: offset", E(0x83), true, 0, 0, 0, 0},
    {"cut: advance4", E(0x04, 1, 0), true, 0, 0, 0, 0},
    {"cut: expression", E(0x10, 3, 5, 0x30), true, 0, 0, 0, 0},
    {"expression longer than anything",
     E(0x10, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), true, 0, 0, 0, 0},
    {"restored, not remembered", E(0x0b), true, 0, 0, 0, 0},
    {"remembered too often", E(10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10),
     true, 0, 0, 0, 0},
    {"an offset to an expression", E(0x0f, 1, 0x30, 0x0e, 8), true, 0, 0, 0, 0},
};

/* Runs the program up to the address of the function + off. */
static bool run(const struct cfi_cie *cie, const uint8_t *bytes, size_t len, uint64_t off,
		struct cfi_rules *out)
{
	const struct cfi_base base = {.at = bytes};
	const struct cfi_fde fde = {
	    .cie = *cie, .start = 0x1000, .program = bytes, .program_len = len};

	return cfi_program_run(&cfi_machine_x86_64, &fde, &base, fde.start + off, out);
}

TEST(programs)
{
	static const uint8_t common[] = {0x0c, 7, 8, 0x90, 1};
	const struct cfi_cie cie = {.code_align = 1,
				    .data_align = -8,
				    .ra = 16,
				    .program = common,
				    .program_len = sizeof(common)};

	for (size_t i = 0; i < NR(programs); i++) {
		struct cfi_rules r = {0};
		bool ok = run(&cie, programs[i].bytes, programs[i].len, 10, &r);

		if (ok == programs[i].is_wrong)
			fail_msg("%s: %s", programs[i].what, ok ? "taken" : "not taken");
		if (ok && (r.cfa.kind != CFI_RULE_REG || r.cfa.off != programs[i].cfa_reg ||
			   r.cfa.plus != programs[i].cfa_off || r.reg[3].kind != programs[i].kind ||
			   r.reg[3].off != programs[i].off || r.reg[16].off != -8))
			fail_msg("%s: CFA %ld%+ld, rbx %d %+ld", programs[i].what, (long)r.cfa.off,
				 (long)r.cfa.plus, r.reg[3].kind, (long)r.reg[3].off);
	}
}

/* Advances count in units of code_align: 4 bytes on arm64. */
TEST(code_align)
{
	static const uint8_t program[] = {0x0c, 7, 8, 0x42, 0x0e, 16, 0x02, 1, 0x0e, 24};
	static const struct {
		uint64_t off;
		int64_t plus;
	} cases[] = {{0, 8}, {7, 8}, {8, 16}, {11, 16}, {12, 24}};
	const struct cfi_cie cie = {.code_align = 4, .data_align = -8, .ra = 16};
	struct cfi_rules r;

	for (size_t i = 0; i < NR(cases); i++) {
		assert_true(run(&cie, program, sizeof(program), cases[i].off, &r));
		assert_int_equal(r.cfa.plus, cases[i].plus);
	}
}

/* Behind two bytes at 0x1000; data at 0x2000. */
static const struct {
	const char *what;
	uint8_t encoding, bytes[8];
	uint64_t value;
	size_t len; /* of the pointer; 0: not valid */
} pointers[] = {
    {"absptr", 0x00, {1, 2, 3, 4, 5, 6, 7, 0x88}, 0x8807060504030201, 8},
    {"uleb128", 0x01, {0xe5, 0x8e, 0x26}, 624485, 3},
    {"udata2", 0x02, {0xfe, 0xff}, 0xfffe, 2},
    {"udata4", 0x03, {0xfe, 0xff, 0xff, 0xff}, 0xfffffffe, 4},
    {"udata8", 0x04, {1}, 1, 8},
    {"sleb128", 0x09, {0x7e}, (uint64_t)-2, 1},
    {"sdata2", 0x0a, {0xfe, 0xff}, (uint64_t)-2, 2},
    {"sdata4", 0x0b, {0xfe, 0xff, 0xff, 0xff}, (uint64_t)-2, 4},
    {"sdata8", 0x0c, {1}, 1, 8},
    {"pcrel sdata4", 0x1b, {0xfe, 0xff, 0xff, 0xff}, 0x1000, 4},
    {"datarel sdata4", 0x3b, {0xfe, 0xff, 0xff, 0xff}, 0x1ffe, 4},
    {"textrel", 0x2b, {0}, 0, 0},
    {"indirect", 0x9b, {0}, 0, 0},
    {"no format", 0x05, {0}, 0, 0},
};

TEST(pointers)
{
	for (size_t i = 0; i < NR(pointers); i++) {
		uint8_t bytes[10] = {0};
		const struct cfi_base base = {.at = bytes, .address = 0x1000, .data = 0x2000};
		struct cursor c;
		uint64_t value;

		print_message("%s\n", pointers[i].what);
		memcpy(bytes + 2, pointers[i].bytes, sizeof(pointers[i].bytes));
		cursor_init(&c, bytes, sizeof(bytes));
		cursor_skip(&c, 2);
		value = cfi_pointer(&c, pointers[i].encoding, &base);
		assert_int_equal(cursor_ok(&c), pointers[i].len != 0);
		if (!pointers[i].len)
			continue;
		assert_int_equal(value, pointers[i].value);
		assert_ptr_equal(c.at, bytes + 2 + pointers[i].len);
	}
}
