/*
 * The programs of unwind tables (DW_CFA_…): run up to an address, they yield the rules that apply
 * there. Tables are hostile, and neither libunwind nor libdw is safe against them: a division can
 * kill the one with SIGFPE, a large register number makes the other allocate gigabytes. Source:
 * DWARF 5, 6.4; the LSB for GNU operations.
 *
 * So this interpreter is our own: it bounds the programs, needs no handle per thread, and reads
 * tables of all machines on any of them. It uses no heap, files or locks, so that it runs inside
 * measured programs, too (lib/agent/heap).
 */
#ifndef CFI_PROGRAM_H
#define CFI_PROGRAM_H

#include "cfi/bytes.h"
#include "cfi/rules.h"

/* Common to many functions. */
struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;           /* the column of the return address */
	uint8_t encoding;      /* of pointers */
	uint8_t data_encoding; /* of that to a function's table of landing pads, if has_data */
	bool has_data, is_signal;
	const uint8_t *program; /* run before the function's program */
	size_t program_len;
};

/* One function. */
struct cfi_fde {
	struct cfi_cie cie;
	uint64_t start, len; /* addresses */
	uint64_t pads;       /* the address of its table of landing pads; 0: it has none */
	const uint8_t *program;
	size_t program_len;
};

/* The rules at an address of the function. base: of the section. False: the program is invalid, or
 * the register of the return address is not tracked. */
bool cfi_program_run(const struct cfi_machine *m, const struct cfi_fde *fde,
		     const struct cfi_base *base, uint64_t address, struct cfi_rules *out);

#endif
