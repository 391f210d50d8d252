/*
 * The table of machines.
 */
#include "unwind/machine.h"

#include "base/array.h"
#include "elf/file.h"
#include "trace/record.h"

#include <elf.h>
#include <string.h>

/* Bits of perf's sample registers, indexed by DWARF number: enum perf_event_x86_regs has another
 * order. */
static const uint8_t x86_bits[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8};

static const uint8_t i386_bits[] = {0, 2, 3, 1, 7, 6, 4, 5, 8};

/* enum perf_event_arm_regs has the same order. */
static const uint8_t arm_bits[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
				   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

enum { X86_64, AARCH64, I386 };

/* 32-bit ARM programs have other tables (.ARM.exidx), which are not read. */
static const struct unwind_machine machines[] = {
    [X86_64] = {.name = "x86_64",
		.elf_machine = EM_X86_64,
		.regs_abi = PERF_SAMPLE_REGS_ABI_64,
		.other = &machines[I386],
		.cfi = &cfi_machine_x86_64,
		.pc_bit = 8,
		.bit_of_reg = x86_bits,
		.syscall_pc = 2,
		.syscall_result = 0},
    [AARCH64] = {.name = "aarch64",
		 .elf_machine = EM_AARCH64,
		 .regs_abi = PERF_SAMPLE_REGS_ABI_64,
		 .cfi = &cfi_machine_aarch64,
		 .pc_bit = 32,
		 .bit_of_reg = arm_bits,
		 .syscall_pc = CFI_NO_REG,
		 .syscall_result = CFI_NO_REG,
		 .has_vdso_sigreturn = true},
    [I386] = {.name = "i686",
	      .elf_machine = EM_386,
	      .regs_abi = PERF_SAMPLE_REGS_ABI_32,
	      .cfi = &cfi_machine_i386,
	      .pc_bit = 8,
	      .bit_of_reg = i386_bits,
	      .syscall_pc = CFI_NO_REG,
	      .syscall_result = CFI_NO_REG},
};

const struct unwind_machine *unwind_machine_find(const char *name)
{
	return ARRAY_FIND(x, machines, ARRAY_NR(machines), strcmp(x->name, name) == 0);
}

const struct unwind_machine *unwind_machine_of(const struct unwind_machine *m,
					       const struct elf_file *file)
{
	while (m && (m->elf_machine != elf_file_machine(file) ||
		     (m->cfi->word_bytes == 8) != elf_file_is_64(file)))
		m = m->other;
	return m;
}

/* Reads the register with this bit; false: it was not sampled. */
static bool find_word(const struct trace_layout *l, const struct trace_record *r, unsigned bit,
		      uint64_t *out)
{
	unsigned at = (unsigned)__builtin_popcountll(l->user_regs & ((1ull << bit) - 1));

	if (!(l->user_regs >> bit & 1) || at >= r->nr_regs)
		return false;
	*out = trace_word(r->regs, at);
	return true;
}

/* The registers of a blocked task that /proc shows, and what a system call puts into others. */
static bool is_seen(const struct unwind_machine *m, unsigned reg)
{
	return reg == m->cfi->sp || reg == m->syscall_pc || reg == m->syscall_result;
}

/* NULL: the sample has no stack, or is of another machine. */
static const struct unwind_machine *machine_of(const struct unwind_machine *m,
					       const struct trace_record *r)
{
	while (m && m->regs_abi != r->regs_abi)
		m = m->other;
	return r->regs && r->stack && r->stack_len ? m : NULL;
}

bool unwind_machine_sp(const struct unwind_machine *m, const struct trace_layout *l,
		       const struct trace_record *r, uint64_t *sp)
{
	m = machine_of(m, r);
	return m && find_word(l, r, m->bit_of_reg[m->cfi->sp], sp);
}

bool unwind_machine_frame(const struct unwind_machine *m, const struct trace_layout *l,
			  const struct trace_record *r, struct cfi_frame *out)
{
	uint64_t value;

	m = machine_of(m, r);
	if (!m)
		return false;
	out->machine = m->cfi;
	out->known = 0;
	out->is_exact = true;
	for (unsigned i = 0; i < m->cfi->nr_regs; i++)
		if ((!r->is_seen || is_seen(m, i)) && find_word(l, r, m->bit_of_reg[i], &value))
			cfi_frame_set(out, i, value);
	if (!find_word(l, r, m->pc_bit, &out->pc) || !cfi_frame_reg(out, m->cfi->sp, &value))
		return false;
	out->stack = (struct cfi_stack){r->stack, value, r->stack_len};
	return value <= UINT64_MAX - r->stack_len;
}
