/*
 * Registers and stack of a sample, and the steps that need no table.
 */
#include "unwind/frame.h"

#include "profile/samples.h"

#include <string.h>

enum {
	WORD_BYTES = 8,
	ABI_64 = 2, /* PERF_SAMPLE_REGS_ABI_64 */
	/* arch/arm64/kernel/signal.c: siginfo, then in the ucontext flags, link, stack and mask
	 * (with room to 1,024 bits), then the sigcontext: fault address, x0 … x30, sp, pc */
	SIGFRAME_REGS_AT = 128 + 176 + 8,
};

/* What lies this far above is still taken for the same stack, of which not all was recorded. */
static const uint64_t max_stack_bytes = 1ull << 30;

/* Which word of the sample holds the register of a bit; false: not recorded. */
static bool find_word(const struct trace_layout *l, const struct trace_record *r, unsigned bit,
		      uint64_t *out)
{
	unsigned at = (unsigned)__builtin_popcountll(l->user_regs & ((1ull << bit) - 1));

	if (!(l->user_regs >> bit & 1) || at >= r->nr_regs)
		return false;
	*out = trace_word(r->regs, at);
	return true;
}

static void take_regs(struct unwind_frame *f, const struct trace_layout *l,
		      const struct trace_record *r)
{
	uint64_t value;

	for (unsigned i = 0; i < f->machine->nr_regs; i++)
		if (find_word(l, r, f->machine->bit_of_reg[i], &value))
			unwind_frame_set(f, i, value);
}

bool unwind_frame_init(struct unwind_frame *f, const struct unwind_machine *m,
		       const struct trace_layout *l, const struct trace_record *r)
{
	uint64_t sp;

	if (r->regs_abi != ABI_64 || !r->regs || !r->stack || !r->stack_len)
		return false;
	f->machine = m;
	f->known = 0;
	f->is_exact = true;
	take_regs(f, l, r);
	if (!find_word(l, r, m->pc_bit, &f->pc) || !unwind_frame_reg(f, m->sp, &sp))
		return false;
	f->stack = (struct unwind_stack){r->stack, sp, r->stack_len};
	return sp <= UINT64_MAX - r->stack_len;
}

int unwind_stack_word(const struct unwind_stack *s, uint64_t address, uint64_t *out)
{
	uint64_t at = address - s->start;

	if (address < s->start || at > s->len + max_stack_bytes)
		return UNWIND_SENSELESS;
	if (s->len < WORD_BYTES || at > s->len - WORD_BYTES)
		return UNWIND_TRUNCATED;
	*out = trace_word(s->bytes + at, 0);
	return UNWIND_GOES_ON;
}

bool unwind_frame_reg(const struct unwind_frame *f, uint64_t number, uint64_t *out)
{
	if (number >= f->machine->nr_regs || !(f->known >> number & 1))
		return false;
	*out = f->reg[number];
	return true;
}

void unwind_frame_set(struct unwind_frame *f, unsigned number, uint64_t value)
{
	f->reg[number] = value;
	f->known |= 1ull << number;
}

uint64_t unwind_frame_lookup(const struct unwind_frame *f)
{
	return f->pc - !f->is_exact;
}

/* To the caller: its frame pointer, its stack behind both words. */
static void go_to_caller(struct unwind_frame *f, uint64_t fp, uint64_t caller_fp, uint64_t ra)
{
	f->known = 0;
	unwind_frame_set(f, f->machine->fp, caller_fp);
	unwind_frame_set(f, f->machine->sp, fp + 2 * WORD_BYTES);
	f->pc = ra & f->machine->address_bits;
	f->is_exact = false;
}

int unwind_frame_by_pointer(struct unwind_frame *f)
{
	uint64_t fp, sp, caller_fp = 0, ra = 0;
	int rc;

	if (!unwind_frame_reg(f, f->machine->fp, &fp) ||
	    !unwind_frame_reg(f, f->machine->sp, &sp) || fp < sp || fp % WORD_BYTES)
		return UNWIND_NO_TABLE;
	rc = unwind_stack_word(&f->stack, fp, &caller_fp);
	if (rc == UNWIND_GOES_ON)
		rc = unwind_stack_word(&f->stack, fp + WORD_BYTES, &ra);
	if (rc != UNWIND_GOES_ON)
		return rc == UNWIND_TRUNCATED ? rc : UNWIND_NO_TABLE;
	if (!(ra & f->machine->address_bits))
		return UNWIND_WHOLE;
	go_to_caller(f, fp, caller_fp, ra);
	return UNWIND_GOES_ON;
}

int unwind_frame_by_sigframe(struct unwind_frame *f)
{
	struct unwind_frame old = *f;
	uint64_t at = 0, value = 0;

	if (!unwind_frame_reg(&old, old.machine->sp, &at))
		return UNWIND_SENSELESS;
	for (unsigned i = 0; i <= old.machine->nr_regs; i++) {
		int rc =
		    unwind_stack_word(&old.stack, at + SIGFRAME_REGS_AT + i * WORD_BYTES, &value);

		if (rc != UNWIND_GOES_ON)
			return rc;
		if (i < old.machine->nr_regs)
			unwind_frame_set(f, i, value);
	}
	f->pc = value;
	f->is_exact = true;
	return UNWIND_GOES_ON;
}
