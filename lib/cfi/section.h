/*
 * A section of unwind tables (.eh_frame or .debug_frame) in memory, and the linker's table of its
 * functions (.eh_frame_hdr). Both are hostile.
 */
#ifndef CFI_SECTION_H
#define CFI_SECTION_H

#include "cfi/program.h"

#include <stddef.h>

struct cfi_section {
	const uint8_t *data; /* borrowed; NULL: none */
	size_t len;
	uint64_t address; /* of the first byte */
	bool is_eh, is_32;
};

/* For pointers in its entries. */
struct cfi_base cfi_section_base(const struct cfi_section *s);
/* The entry at the offset, if it is a function's that contains the address. */
bool cfi_section_fde(const struct cfi_section *s, uint64_t offset, uint64_t address,
		     struct cfi_fde *out);
/* Reads the entry at *offset, and moves *offset to the next one. False: there is none. *is_fde: it
 * is a function's, in *out. */
bool cfi_section_next(const struct cfi_section *s, uint64_t *offset, struct cfi_fde *out,
		      bool *is_fde);

struct cfi_header {
	const uint8_t *table; /* pairs of a function's start and its entry, sorted */
	size_t nr;
	uint64_t address; /* to which they are relative */
};

/* False: it is invalid, or of another form than linkers write. */
bool cfi_header_init(struct cfi_header *h, const uint8_t *data, size_t len, uint64_t address,
		     bool is_32);
/* *fde: the address of the entry of the last function that starts at or before the address. */
bool cfi_header_find(const struct cfi_header *h, uint64_t address, uint64_t *fde);
/* Where that function starts, and the one behind it; unchanged where there is none. */
void cfi_header_around(const struct cfi_header *h, uint64_t address, uint64_t *start,
		       uint64_t *next);

#endif
