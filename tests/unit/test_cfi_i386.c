/*
 * Stacks of 32-bit programs: words of four bytes, and the steps out of their vdso.
 */
#include "kit.h"

#include "cfi/bytes.h"
#include "cfi/expr.h"
#include "cfi/frame.h"

#include <dwarf.h>
#include <string.h>

enum { EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI };
enum { SP = 0xffff1000, PC = 0xf7f40549, NR_WORDS = 64, USER_CS = 0x23, KERNEL_CS = 0x10 };

static uint32_t words[NR_WORDS];

static struct cfi_frame frame_of(bool is_exact)
{
	struct cfi_frame f = {.machine = &cfi_machine_i386,
			      .stack = {(const uint8_t *)words, SP, sizeof(words)},
			      .pc = PC,
			      .is_exact = is_exact};

	for (unsigned i = 0; i < f.machine->nr_regs; i++)
		cfi_frame_set(&f, i, 0xa0 + i);
	cfi_frame_set(&f, ESP, SP);
	for (uint32_t i = 0; i < NR_WORDS; i++)
		words[i] = 0x8000 + i;
	return f;
}

TEST(word)
{
	struct cfi_frame f = frame_of(true);
	uint64_t word = 0;

	assert_int_equal(cfi_frame_word(&f, SP + 4, &word), CFI_GOES_ON);
	assert_int_equal(word, 0x8001);
	assert_int_equal(cfi_frame_word(&f, SP + 4 * (NR_WORDS - 1), &word), CFI_GOES_ON);
	assert_int_equal(word, 0x8000 + NR_WORDS - 1);
	assert_int_equal(cfi_frame_word(&f, SP + 4 * NR_WORDS - 3, &word), CFI_TRUNCATED);
}

TEST(system_call)
{
	struct cfi_frame f = frame_of(true);

	words[0] = 0xa0 + EBP;
	assert_int_equal(cfi_frame_by_vdso32(&f), CFI_GOES_ON);
	assert_int_equal(f.pc, 0x8003);
	assert_int_equal(f.reg[ESP], SP + 16);
	assert_int_equal(f.reg[EBP], 0xa0 + EBP);
	assert_int_equal(f.known, 1 << EBX | 1 << ESP | 1 << EBP | 1 << ESI | 1 << EDI);
	assert_false(f.is_exact);
}

/* Of the vdso, but not in a system call. */
TEST(frame_pointer)
{
	struct cfi_frame f = frame_of(true);

	cfi_frame_set(&f, EBP, SP + 20);
	assert_int_equal(cfi_frame_by_vdso32(&f), CFI_GOES_ON);
	assert_int_equal(f.pc, 0x8006);
	assert_int_equal(f.reg[EBP], 0x8005);
	assert_int_equal(f.reg[ESP], SP + 28);
	f = frame_of(true);
	assert_int_equal(cfi_frame_by_vdso32(&f), CFI_NO_TABLE);
}

/* at: the word of the stack where the registers begin (struct sigcontext_32). */
static void check_handler(unsigned at, uint32_t cs, enum cfi_end end)
{
	struct cfi_frame f = frame_of(false);
	const unsigned order[] = {EDI, ESI, EBP, ESP, EBX, EDX, ECX, EAX};

	if (at > 1) {
		words[1] = SP + 12;
		words[2] = SP + 12 + 128;
	}
	words[at + 15] = cs;
	assert_int_equal(cfi_frame_by_vdso32(&f), end);
	if (end != CFI_GOES_ON)
		return;
	assert_int_equal(f.pc, 0x8000 + at + 14);
	assert_true(f.is_exact);
	for (unsigned i = 0; i < NR(order); i++)
		assert_int_equal(f.reg[order[i]], 0x8000 + at + 4 + i);
}

TEST(handler)
{
	check_handler(1, USER_CS, CFI_GOES_ON);
	check_handler((12 + 128 + 20) / 4, USER_CS, CFI_GOES_ON);
	check_handler(1, KERNEL_CS, CFI_NO_TABLE);
	check_handler((12 + 128 + 20) / 4, KERNEL_CS, CFI_NO_TABLE);
}

/* What lies beyond the recorded bytes is not known. */
TEST(cut)
{
	struct cfi_frame f = frame_of(false);

	f.stack.len = 4 * 15;
	assert_int_equal(cfi_frame_by_vdso32(&f), CFI_NO_TABLE);
	f = frame_of(true);
	words[0] = 0xa0 + EBP;
	f.stack.len = 12;
	assert_int_equal(cfi_frame_by_vdso32(&f), CFI_NO_TABLE);
}

static const struct {
	uint8_t encoding, len;
	uint64_t value;
} pointers[] = {
    {DW_EH_PE_absptr, 4, 0xfffffff0},
    {DW_EH_PE_pcrel | DW_EH_PE_sdata4, 4, 0xff0},
    {DW_EH_PE_pcrel | DW_EH_PE_udata4, 4, 0xff0},
    {DW_EH_PE_pcrel | DW_EH_PE_absptr, 4, 0xff0},
};

TEST(pointers)
{
	static const uint8_t bytes[8] = {0xf0, 0xff, 0xff, 0xff, 1, 1, 1, 1};

	for (size_t i = 0; i < NR(pointers); i++) {
		const struct cfi_base base = {.at = bytes, .address = 0x1000, .is_32 = true};
		struct cursor c;

		cursor_init(&c, bytes, sizeof(bytes));
		assert_int_equal(cfi_pointer(&c, pointers[i].encoding, &base), pointers[i].value);
		assert_ptr_equal(c.at, bytes + pointers[i].len);
	}
}

TEST(expression)
{
	static const uint8_t deref[] = {DW_OP_deref}, deref_8[] = {DW_OP_deref_size, 8};
	const struct cfi_frame f = frame_of(true);
	const uint64_t cfa = SP + 8;
	uint64_t value = 0;

	assert_int_equal(cfi_expr_run(&(struct cfi_expr){deref, sizeof(deref)}, &f, &cfa, &value),
			 CFI_GOES_ON);
	assert_int_equal(value, 0x8002);
	assert_int_equal(
	    cfi_expr_run(&(struct cfi_expr){deref_8, sizeof(deref_8)}, &f, &cfa, &value),
	    CFI_INVALID);
}
