/*
 * Applies a plain row. Unwinding spends its time here: a few additions and loads per frame.
 */
#include "cfi/row.h"

enum cfi_end cfi_frame_arrive(struct cfi_frame *f, const struct cfi_arrival *a)
{
	uint64_t pc = a->is_signal ? a->ra : a->ra & f->machine->address_bits;
	uint64_t sp = f->reg[f->machine->sp];

	/* Stacks grow downward, so the caller's stack pointer is higher; otherwise unwinding might
	 * not end. Exceptions: a sampled function with its return address in a register may not
	 * use the stack, and a signal handler may run on a stack of its own. */
	if (!a->is_signal && a->sp <= sp && !(a->sp == sp && a->ra_was_lr && f->is_exact))
		return CFI_INVALID;
	f->known = a->known;
	cfi_frame_set(f, f->machine->sp, a->sp);
	f->pc = pc;
	f->is_exact = a->is_signal;
	return pc ? CFI_GOES_ON : CFI_WHOLE;
}

enum cfi_end cfi_row_apply(const struct cfi_row *r, struct cfi_frame *f)
{
	struct cfi_arrival a = {.known = f->known & f->machine->callee_saved,
				.is_signal = r->is_signal};
	const uint64_t sp = f->reg[f->machine->sp];
	enum cfi_end end = CFI_GOES_ON;

	if (!cfi_frame_reg(f, r->cfa_reg, &a.sp))
		return CFI_INVALID;
	a.sp += (uint64_t)(int64_t)r->cfa_off;
	if (r->ra_reg == CFI_NO_REG)
		end = cfi_frame_word(f, a.sp + (uint64_t)(int64_t)r->ra_off, &a.ra);
	else if (!cfi_frame_reg(f, r->ra_reg, &a.ra))
		end = CFI_INVALID;
	a.ra_was_lr = r->ra_reg != CFI_NO_REG;
	if (end != CFI_GOES_ON)
		return end;

	/* A register beyond the recorded bytes becomes unknown: few callers need it. One whose slot
	 * is below the stack pointer was restored already, at the end of the function, of which a
	 * signal has overwritten the slot if it came there. Tables do not describe that, because
	 * the slot still holds the value. */
	for (unsigned i = 0; i < r->nr_saved; i++) {
		uint64_t bit = 1ull << r->saved_reg[i];
		uint64_t at = a.sp + (uint64_t)(int64_t)r->saved_off[i];

		if (at < sp && f->is_exact)
			continue;
		a.known &= ~bit;
		if (cfi_frame_word(f, at, &f->reg[r->saved_reg[i]]) == CFI_GOES_ON)
			a.known |= bit;
	}
	return cfi_frame_arrive(f, &a);
}
