/*
 * What unwinding must know of a machine besides its registers (cfi/machine.h), and where a sample
 * has those. Source: asm/perf_regs.h of both machines.
 */
#ifndef UNWIND_MACHINE_H
#define UNWIND_MACHINE_H

#include "cfi/frame.h"

struct trace_layout;
struct trace_record;

struct unwind_machine {
	const char *name;     /* as uname has it */
	uint16_t elf_machine; /* EM_… */
	const struct cfi_machine *cfi;
	uint8_t pc_bit;            /* of the program counter in a sample's registers */
	const uint8_t *bit_of_reg; /* of the other registers, by DWARF number */
	bool has_vdso_sigreturn;   /* handlers of signals return into the vdso, whose table does not
				      say where the interrupted registers are */
};

/* NULL: not known. */
const struct unwind_machine *unwind_machine_find(const char *name);

/* The frame that a sample's registers and stack hold. False: it has none, or not these. */
bool unwind_machine_frame(const struct unwind_machine *m, const struct trace_layout *layout,
			  const struct trace_record *sample, struct cfi_frame *out);

#endif
