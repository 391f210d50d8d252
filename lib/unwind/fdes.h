/*
 * A section of unwind tables (.eh_frame or .debug_frame). Finds the entry of an address in the
 * linker's table (.eh_frame_hdr), or in a sorted list made on the first lookup. The section is
 * hostile; the list is bounded.
 */
#ifndef UNWIND_FDES_H
#define UNWIND_FDES_H

#include "cfi/section.h"

struct elf_file;
struct unwind_fdes {
	struct cfi_section section;    /* without data: none */
	struct cfi_header header;      /* without a table: none */
	struct unwind_fde_place *list; /* owned, sorted */
	size_t nr_list;
	bool is_listed;
};

/* Finds the section; borrows from the file. Without a section, unwind_fdes_find finds nothing. */
void unwind_fdes_init(struct unwind_fdes *f, const struct elf_file *file, bool is_eh);
void unwind_fdes_fini(struct unwind_fdes *f);
bool unwind_fdes_find(struct unwind_fdes *f, uint64_t address, struct cfi_fde *out);
/* Where the last function begins that does so at or before the address, and the next one; unchanged
 * where there is none. */
void unwind_fdes_around(struct unwind_fdes *f, uint64_t address, uint64_t *start, uint64_t *next);

#endif
