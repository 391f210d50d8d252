/*
 * The registers of a machine by DWARF number, and which are callee-saved. Source: the psABIs of
 * x86-64, i386 and AArch64.
 */
#ifndef CFI_MACHINE_H
#define CFI_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CFI_MAX_REGS = 33, /* those that can hold addresses: x0 … x30, sp of arm64 */
	CFI_NO_REG = 255,
};

struct cfi_machine {
	uint8_t word_bytes; /* of an address: 4 or 8 */
	uint8_t nr_regs;    /* lower numbers are tracked */
	uint8_t sp, fp;     /* DWARF numbers */
	uint8_t ra;         /* the column of the return address */
	uint8_t lr; /* the register with the return address after a call; CFI_NO_REG: it is on the
		       stack */
	uint64_t callee_saved; /* bits: callee-saved registers */
	uint64_t address_bits; /* of addresses of code; other bits of a return address may be a
				  signature (arm64: PAC) */
};

extern const struct cfi_machine cfi_machine_x86_64, cfi_machine_i386, cfi_machine_aarch64;

#endif
