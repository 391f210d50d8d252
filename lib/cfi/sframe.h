/*
 * The simple unwind table of a file (.sframe): of each instruction the CFA, the return address and
 * the frame pointer, and no other register. Versions 1 to 3, of x86-64 and arm64. The table is
 * hostile.
 *
 * Source: "The SFrame Format", versions 1 to 3, of GNU binutils 2.40 to 2.47.
 */
#ifndef CFI_SFRAME_H
#define CFI_SFRAME_H

#include "cfi/rules.h"

struct cfi_sframe {
	const uint8_t *data; /* borrowed; NULL: none */
	size_t len;
	uint64_t address; /* of the first byte */
	const struct cfi_machine *machine;
	uint8_t version;
	bool is_relative; /* a function's start is relative to its own field, not to the table */
	int8_t ra_off;    /* where return addresses are, from the CFA; 0: rows say it */
	uint64_t functions, rows; /* offsets of the index of functions, and of what it leads to */
	uint64_t nr_functions;
};

/* False: it is invalid, of another machine or version, or its functions are not sorted (only
 * linkers sort them). */
bool cfi_sframe_init(struct cfi_sframe *s, const uint8_t *data, size_t len, uint64_t address);
/* The rules at an address. Registers that it says nothing of are lost. False: it has no row for the
 * address. */
bool cfi_sframe_rules(const struct cfi_sframe *s, const struct cfi_machine *m, uint64_t address,
		      struct cfi_rules *out);

#endif
