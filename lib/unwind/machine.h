/*
 * What unwinding needs of a machine besides its registers (cfi/machine.h), and the order of
 * registers in samples. Source: asm/perf_regs.h of both.
 */
#ifndef UNWIND_MACHINE_H
#define UNWIND_MACHINE_H

#include "cfi/frame.h"

struct elf_file;
struct trace_layout;
struct trace_record;

struct unwind_machine {
	const char *name;                   /* as in uname(2) */
	uint16_t elf_machine;               /* EM_… */
	uint8_t regs_abi;                   /* enum perf_sample_regs_abi */
	const struct unwind_machine *other; /* that it also runs programs of; NULL: none */
	const struct cfi_machine *cfi;
	uint8_t pc_bit;            /* bit of the program counter in user_regs */
	const uint8_t *bit_of_reg; /* bits of the other registers in user_regs, by DWARF number */
	uint8_t syscall_pc, syscall_result; /* DWARF numbers: in a system call the first has the
					       address after it, the second is 0 in a new thread
					       alone; CFI_NO_REG: no such register */
	bool has_vdso_sigreturn; /* signal handlers return into the vdso, whose table does not
				    describe the interrupted frame */
};

/* NULL: unknown machine. */
const struct unwind_machine *unwind_machine_find(const char *name);

/* The machine itself or the other one, whose code this file has; NULL: neither. */
const struct unwind_machine *unwind_machine_of(const struct unwind_machine *m,
					       const struct elf_file *file);

/* The frame of a sample with registers and stack. False: it has none, or they are not usable.
 * out->machine may be the other one. */
bool unwind_machine_frame(const struct unwind_machine *m, const struct trace_layout *layout,
			  const struct trace_record *sample, struct cfi_frame *out);

/* The sampled stack pointer. False: as unwind_machine_frame. */
bool unwind_machine_sp(const struct unwind_machine *m, const struct trace_layout *layout,
		       const struct trace_record *sample, uint64_t *sp);

#endif
