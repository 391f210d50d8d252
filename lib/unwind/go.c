/*
 * The table says how far the stack pointer is from the return address. A function with a frame has
 * the caller's frame pointer below that. It is not there in the first instructions of a function
 * yet; callers of Go do not need it, and what called those has it restored by its own callee.
 */
#include "unwind/go.h"

#include "elf/pclntab.h"

#include <string.h>

bool unwind_go_rules(const struct elf_pclntab *t, const struct cfi_machine *m, uint64_t address,
		     struct cfi_rules *out)
{
	enum { WORD = 8 };
	uint32_t bytes;
	const enum elf_pclntab_frame frame =
	    m == &cfi_machine_x86_64 ? elf_pclntab_frame(t, address, &bytes) : ELF_PCLNTAB_NO_FRAME;

	if (frame == ELF_PCLNTAB_NO_FRAME || bytes % WORD)
		return false;
	memset(out, 0, sizeof(*out));
	out->ra = m->ra;
	out->cfa =
	    (struct cfi_rule){.kind = CFI_RULE_REG, .off = m->sp, .plus = (int64_t)bytes + WORD};
	out->reg[m->ra] = (struct cfi_rule){
	    .kind = frame == ELF_PCLNTAB_OUTERMOST ? CFI_RULE_LOST : CFI_RULE_SAVED, .off = -WORD};
	if (bytes)
		out->reg[m->fp] = (struct cfi_rule){.kind = CFI_RULE_SAVED, .off = -2 * WORD};
	return true;
}
