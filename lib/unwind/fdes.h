/*
 * A section of unwind tables (.eh_frame or .debug_frame): finds the entry of an address by the
 * linker's table (.eh_frame_hdr), else by a list made once. The bytes are hostile; the list is
 * bounded.
 */
#ifndef UNWIND_FDES_H
#define UNWIND_FDES_H

#include "cfi/program.h"

#include <stddef.h>

struct elf_file;
struct unwind_fdes {
	const uint8_t *data; /* of the section; NULL: there is none */
	size_t len;
	uint64_t address;
	bool is_eh;
	const uint8_t *table; /* nr_table sorted pairs, from table_base; NULL: none */
	size_t nr_table;
	uint64_t table_base;
	struct unwind_fde_place *list; /* owned, sorted */
	size_t nr_list;
	bool is_listed;
};

/* Finds the section; without one, unwind_fdes_find finds nothing. Borrows from the file. */
void unwind_fdes_init(struct unwind_fdes *f, const struct elf_file *file, bool is_eh);
void unwind_fdes_fini(struct unwind_fdes *f);
bool unwind_fdes_find(struct unwind_fdes *f, uint64_t address, struct cfi_fde *out);

#endif
