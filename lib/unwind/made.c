/*
 * A compiler's table is of one function. Trampolines without a table are known by name: Python's
 * (-X perf), one for each of its functions, calls the interpreter and returns.
 */
#include "unwind/made.h"

#include "cfi/section.h"

#include <string.h>

enum { MAX_ENTRIES = 16 }; /* of a table: it is searched for each frame */

static bool rules_of_table(const struct unwind_made *made, const struct cfi_machine *m,
			   struct cfi_rules *out)
{
	const struct cfi_section section = {.data = made->table,
					    .len = made->table_len,
					    .address = made->table_address,
					    .is_eh = true,
					    .is_32 = m->word_bytes == 4};
	const struct cfi_base base = cfi_section_base(&section);
	uint64_t at = 0;
	struct cfi_fde fde;
	bool is_fde;

	for (unsigned i = 0;
	     i < MAX_ENTRIES && at < section.len && cfi_section_next(&section, &at, &fde, &is_fde);
	     i++)
		if (is_fde && made->address - fde.start < fde.len)
			return cfi_program_run(m, &fde, &base, made->address, out);
	return false;
}

/*
 * In the call, the frame of Python's trampolines is two words, the second of which is the return
 * address (x86-64: Python/asm_trampoline.S, 3.12 to 3.14: sub $8, %rsp or push %rbp; mov %rsp,
 * %rbp; arm64: stp x29, x30, [sp, -16]!; mov x29, sp). Where the frame pointer is the stack
 * pointer, the first is the caller's. The few instructions of its own are not known.
 */
static bool rules_of_trampoline(const struct unwind_made *made, const struct cfi_frame *f,
				struct cfi_rules *out)
{
	const struct cfi_machine *m = f->machine;
	const int64_t word = m->word_bytes;
	uint64_t sp, fp;

	if (f->is_exact || strncmp(made->name, "py::", 4) != 0)
		return false;
	*out = (struct cfi_rules){.cfa = {.kind = CFI_RULE_REG, .off = m->sp, .plus = 2 * word},
				  .ra = m->ra};
	out->reg[m->ra] = (struct cfi_rule){.kind = CFI_RULE_SAVED, .off = -word};
	if (cfi_frame_reg(f, m->sp, &sp) && cfi_frame_reg(f, m->fp, &fp) && sp == fp)
		out->reg[m->fp] = (struct cfi_rule){.kind = CFI_RULE_SAVED, .off = -2 * word};
	return true;
}

bool unwind_made_rules(const struct unwind_made *made, const struct cfi_frame *frame,
		       struct cfi_rules *out)
{
	return (made->table && rules_of_table(made, frame->machine, out)) ||
	       rules_of_trampoline(made, frame, out);
}
