/*
 * The unwind tables of all mapped objects: from a place in one to its row, cached. For one thread.
 */
#ifndef UNWIND_TABLES_H
#define UNWIND_TABLES_H

#include "cfi/row.h"

struct elf_file;
struct elf_finder;
struct profile_mapping;
struct unwind_machine;
struct unwind_tables;

/* All is borrowed. vdso: the file for mappings of it; NULL: there is none. NULL: no memory. */
struct unwind_tables *unwind_tables_new(struct elf_finder *finder, const struct elf_file *vdso,
					const struct unwind_machine *m);
void unwind_tables_free(struct unwind_tables *t); /* NULL is fine */

/* A place in an object. */
struct unwind_at {
	uint32_t object;  /* its number */
	uint64_t address; /* as its file has it */
};

/* The row for an address (of memory) in a mapping; valid until the next is found. Never NULL: one
 * of the kind CFI_ROW_UNKNOWN where there is no file. */
const struct cfi_row *unwind_tables_find(struct unwind_tables *t,
					 const struct profile_mapping *mapping, uint64_t address,
					 struct unwind_at *at);
/* Steps to the caller by a hard row that was found at a place. As cfi_rules_apply. */
enum cfi_end unwind_tables_step(struct unwind_tables *t, const struct unwind_at *at,
				struct cfi_frame *f);

#endif
