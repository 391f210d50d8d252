/*
 * The programs of unwind tables (DW_CFA_…): run up to an address, they yield the rules that hold
 * there. Every byte is hostile, which neither libunwind nor libdw withstands: a division in an
 * expression ends the one with SIGFPE, a large register number makes the other allocate gigabytes.
 * Source: DWARF 5, 6.4; the LSB for those of GNU.
 */
#ifndef CFI_PROGRAM_H
#define CFI_PROGRAM_H

#include "cfi/bytes.h"
#include "cfi/rules.h"

/* What many functions share. */
struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;      /* the column of the return address */
	uint8_t encoding; /* of pointers */
	bool has_data, is_signal;
	const uint8_t *program; /* run before that of the function */
	size_t program_len;
};

/* What the table says of one function. */
struct cfi_fde {
	struct cfi_cie cie;
	uint64_t start, len; /* addresses */
	const uint8_t *program;
	size_t program_len;
};

/* The rules at an address in the function. base is of the section. False: the program is invalid,
 * or the return address is in no register that is tracked. */
bool cfi_program_run(const struct cfi_machine *m, const struct cfi_fde *fde,
		     const struct cfi_base *base, uint64_t address, struct cfi_rules *out);

#endif
