/*
 * Registers, words of the stack, and steps that need no table.
 */
#include "cfi/frame.h"

#include <endian.h>
#include <string.h>

enum {
	WORD_BYTES = 8,
	/* arch/arm64/kernel/signal.c: siginfo; in the ucontext: flags, link, stack and mask
	 * (reserved up to 1,024 bits); in the sigcontext: fault address, then x0 … x30, sp, pc */
	SIGFRAME_REGS_AT = 128 + 176 + 8,
};

/* Addresses up to this far above the recorded bytes belong to the same stack. */
static const uint64_t max_stack_bytes = 1ull << 30;

enum cfi_end cfi_stack_word(const struct cfi_stack *s, uint64_t address, uint64_t *out)
{
	uint64_t at = address - s->start, word;

	if (address < s->start || at > s->len + max_stack_bytes)
		return CFI_INVALID;
	if (s->len < WORD_BYTES || at > s->len - WORD_BYTES)
		return CFI_TRUNCATED;
	memcpy(&word, s->bytes + at, sizeof(word));
	*out = le64toh(word);
	return CFI_GOES_ON;
}

bool cfi_frame_reg(const struct cfi_frame *f, uint64_t number, uint64_t *out)
{
	if (number >= f->machine->nr_regs || !(f->known >> number & 1))
		return false;
	*out = f->reg[number];
	return true;
}

void cfi_frame_set(struct cfi_frame *f, unsigned number, uint64_t value)
{
	f->reg[number] = value;
	f->known |= 1ull << number;
}

uint64_t cfi_frame_lookup(const struct cfi_frame *f)
{
	return f->pc - !f->is_exact;
}

enum cfi_end cfi_frame_by_pointer(struct cfi_frame *f)
{
	const struct cfi_machine *m = f->machine;
	uint64_t fp, sp, caller_fp = 0, ra = 0;
	enum cfi_end end;

	if (!cfi_frame_reg(f, m->fp, &fp) || !cfi_frame_reg(f, m->sp, &sp) || fp < sp ||
	    fp % WORD_BYTES)
		return CFI_NO_TABLE;
	end = cfi_stack_word(&f->stack, fp, &caller_fp);
	if (end == CFI_GOES_ON)
		end = cfi_stack_word(&f->stack, fp + WORD_BYTES, &ra);
	if (end != CFI_GOES_ON)
		return end == CFI_TRUNCATED ? end : CFI_NO_TABLE;
	ra &= m->address_bits;
	if (!ra)
		return CFI_WHOLE;
	f->known = 0;
	cfi_frame_set(f, m->fp, caller_fp);
	cfi_frame_set(f, m->sp, fp + 2 * WORD_BYTES);
	f->pc = ra;
	f->is_exact = false;
	return CFI_GOES_ON;
}

enum cfi_end cfi_frame_by_sigframe(struct cfi_frame *f)
{
	const struct cfi_stack stack = f->stack;
	uint64_t at = 0, value = 0;

	if (!cfi_frame_reg(f, f->machine->sp, &at))
		return CFI_INVALID;
	at += SIGFRAME_REGS_AT;
	for (unsigned i = 0; i <= f->machine->nr_regs; i++, at += WORD_BYTES) {
		enum cfi_end end = cfi_stack_word(&stack, at, &value);

		if (end != CFI_GOES_ON)
			return end;
		if (i < f->machine->nr_regs)
			cfi_frame_set(f, i, value);
	}
	f->pc = value;
	f->is_exact = true;
	return CFI_GOES_ON;
}
