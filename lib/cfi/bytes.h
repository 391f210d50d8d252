/*
 * Numbers as DWARF writes them, over a cursor that does not pass its end. Source: DWARF 5, 7.6; the
 * LSB, "DWARF Extensions" (DW_EH_PE_…).
 */
#ifndef CFI_BYTES_H
#define CFI_BYTES_H

#include "base/cursor.h"

uint64_t cfi_uleb(struct cursor *c);
int64_t cfi_sleb(struct cursor *c);
/* A length and that many bytes. NULL: not there. */
const uint8_t *cfi_block(struct cursor *c, size_t *len);

/* Where relative pointers count from: the address of the cursor's place, and the table's. */
struct cfi_base {
	const uint8_t *at; /* bytes … */
	uint64_t address;  /* … that are at this address */
	uint64_t data;
};
/* Reads a pointer of the encoding; the cursor underflows if the encoding is unknown or indirect. */
uint64_t cfi_pointer(struct cursor *c, uint8_t encoding, const struct cfi_base *base);

#endif
