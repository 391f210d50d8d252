/*
 * The number formats of DWARF, read from a cursor. Source: DWARF 5, 7.6; the LSB, "DWARF
 * Extensions" (DW_EH_PE_…).
 */
#ifndef CFI_BYTES_H
#define CFI_BYTES_H

#include "base/cursor.h"

uint64_t cfi_uleb(struct cursor *c);
int64_t cfi_sleb(struct cursor *c);
/* A length and that many bytes; NULL: they exceed the data. */
const uint8_t *cfi_block(struct cursor *c, size_t *len);

/* The bases of relative pointers. */
struct cfi_base {
	const uint8_t *at; /* this byte … */
	uint64_t address;  /* … is at this address */
	uint64_t data;
	bool is_32; /* addresses have 32 bits */
};
/* Reads a pointer with the encoding. Unknown and indirect encodings make the cursor underflow. */
uint64_t cfi_pointer(struct cursor *c, uint8_t encoding, const struct cfi_base *base);

#endif
