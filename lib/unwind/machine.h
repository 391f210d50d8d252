/*
 * What unwinding must know of a machine: its registers by their DWARF numbers, and where a sample
 * has them. Source: the psABIs of x86-64 and AArch64 (DWARF), asm/perf_regs.h of both.
 */
#ifndef UNWIND_MACHINE_H
#define UNWIND_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	UNWIND_MAX_REGS = 33, /* those that hold addresses: x0 … x30, sp of arm64 */
	UNWIND_NO_REG = 255,
};

struct unwind_machine {
	const char *name;        /* as uname has it */
	uint16_t elf_machine;    /* EM_… */
	uint8_t nr_regs;         /* numbers below it are kept */
	uint8_t sp, fp;          /* DWARF numbers */
	uint8_t ra;              /* the column of the return address */
	uint8_t lr;              /* the register a call leaves it in; UNWIND_NO_REG: on the stack */
	uint8_t pc_bit;          /* of the program counter in a sample's registers */
	uint64_t callee_saved;   /* bits: what a function leaves as it was */
	uint64_t address_bits;   /* of code of programs; the rest of a return address may be a
				    signature (arm64: PAC) */
	bool has_vdso_sigreturn; /* handlers of signals return into the vdso, without a table that
				    tells where the signal was */
	const uint8_t *bit_of_reg; /* nr_regs of them: which bit of a sample's registers */
};

/* NULL: not known. */
const struct unwind_machine *unwind_machine_find(const char *name);

#endif
