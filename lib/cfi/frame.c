/*
 * Registers, words of the stack, and steps that need no table.
 */
#include "cfi/frame.h"

#include <endian.h>
#include <string.h>

enum {
	/* arch/arm64/kernel/signal.c: siginfo; in the ucontext: flags, link, stack and mask
	 * (reserved up to 1,024 bits); in the sigcontext: fault address, then x0 … x30, sp, pc */
	SIGFRAME_REGS_AT = 128 + 176 + 8,
};

/* Addresses up to this far above the recorded bytes belong to the same stack. */
static const uint64_t max_stack_bytes = 1ull << 30;

enum cfi_end cfi_frame_word(const struct cfi_frame *f, uint64_t address, uint64_t *out)
{
	const struct cfi_stack *s = &f->stack;
	const size_t bytes = f->machine->word_bytes;
	uint64_t at = address - s->start, word;
	uint32_t word_32;

	if (address < s->start || at > s->len + max_stack_bytes)
		return CFI_INVALID;
	if (s->len < bytes || at > s->len - bytes)
		return CFI_TRUNCATED;
	if (bytes == sizeof(word)) {
		memcpy(&word, s->bytes + at, sizeof(word));
		*out = le64toh(word);
	} else {
		memcpy(&word_32, s->bytes + at, sizeof(word_32));
		*out = le32toh(word_32);
	}
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
	const uint64_t bytes = m->word_bytes;
	uint64_t fp, sp, caller_fp = 0, ra = 0;
	enum cfi_end end;

	if (!cfi_frame_reg(f, m->fp, &fp) || !cfi_frame_reg(f, m->sp, &sp) || fp < sp || fp % bytes)
		return CFI_NO_TABLE;
	end = cfi_frame_word(f, fp, &caller_fp);
	if (end == CFI_GOES_ON)
		end = cfi_frame_word(f, fp + bytes, &ra);
	if (end != CFI_GOES_ON)
		return end == CFI_TRUNCATED ? end : CFI_NO_TABLE;
	ra &= m->address_bits;
	if (!ra)
		return CFI_WHOLE;
	f->known = 0;
	cfi_frame_set(f, m->fp, caller_fp);
	cfi_frame_set(f, m->sp, fp + 2 * bytes);
	f->pc = ra;
	f->is_exact = false;
	return CFI_GOES_ON;
}

enum cfi_end cfi_frame_by_sigframe(struct cfi_frame *f)
{
	struct cfi_frame caller = *f;
	uint64_t at = 0, value = 0;

	if (!cfi_frame_reg(f, f->machine->sp, &at))
		return CFI_INVALID;
	at += SIGFRAME_REGS_AT;
	for (unsigned i = 0; i <= f->machine->nr_regs; i++, at += f->machine->word_bytes) {
		enum cfi_end end = cfi_frame_word(f, at, &value);

		if (end != CFI_GOES_ON)
			return end;
		if (i < f->machine->nr_regs)
			cfi_frame_set(&caller, i, value);
	}
	*f = caller;
	f->pc = value;
	f->is_exact = true;
	return CFI_GOES_ON;
}

/* Reads the words from the stack pointer on; those that were not recorded are 0. */
static void read_words(const struct cfi_frame *f, uint64_t at, uint64_t *word, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (cfi_frame_word(f, at + i * f->machine->word_bytes, &word[i]) != CFI_GOES_ON)
			word[i] = 0;
}

/* arch/x86/entry/vdso/vdso32/system_call.S pushes ecx, edx, ebp. In a system call, ebp has the
 * value that was pushed. Other functions of the vdso have frame pointers. */
static enum cfi_end leave_vsyscall(struct cfi_frame *f, uint64_t sp)
{
	enum { EBP, EDX, ECX, RETURN, NR };
	uint64_t word[NR], ebp;

	read_words(f, sp, word, NR);
	if (!cfi_frame_reg(f, f->machine->fp, &ebp) || ebp != word[EBP] || !word[RETURN])
		return cfi_frame_by_pointer(f);
	f->known &= f->machine->callee_saved;
	cfi_frame_set(f, f->machine->sp, sp + NR * f->machine->word_bytes);
	f->pc = word[RETURN];
	f->is_exact = false;
	return CFI_GOES_ON;
}

/* arch/x86/include/asm/sigframe.h, below the return address: the signal, and with SA_SIGINFO the
 * addresses of siginfo and ucontext; then the registers (struct sigcontext_32). */
static enum cfi_end leave_handler(struct cfi_frame *f, uint64_t sp)
{
	enum { SIGNAL, INFO, CONTEXT, NR_ARGUMENTS };
	enum { EDI = 4, ESI, EBP, ESP, EBX, EDX, ECX, EAX, EIP = 14, CS, NR };
	enum { INFO_BYTES = 128, REGS_IN_CONTEXT = 20, USER_MODE = 3 };
	static const uint8_t at[] = {EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI};
	uint64_t argument[NR_ARGUMENTS], word[NR], bytes = f->machine->word_bytes;
	bool has_info;

	read_words(f, sp, argument, NR_ARGUMENTS);
	has_info = argument[INFO] == sp + NR_ARGUMENTS * bytes &&
		   argument[CONTEXT] == argument[INFO] + INFO_BYTES;
	read_words(f, has_info ? argument[CONTEXT] + REGS_IN_CONTEXT : sp + bytes, word, NR);
	if ((word[CS] & USER_MODE) != USER_MODE || !word[EIP])
		return CFI_NO_TABLE;
	for (unsigned i = 0; i < sizeof(at); i++)
		cfi_frame_set(f, i, word[at[i]]);
	f->pc = word[EIP];
	f->is_exact = true;
	return CFI_GOES_ON;
}

enum cfi_end cfi_frame_by_vdso32(struct cfi_frame *f)
{
	uint64_t sp;

	if (!cfi_frame_reg(f, f->machine->sp, &sp))
		return CFI_INVALID;
	return f->is_exact ? leave_vsyscall(f, sp) : leave_handler(f, sp);
}
