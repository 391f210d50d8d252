/*
 * A table of symbols with its text, for this room.
 */
#ifndef FUNCTIONS_SYMBOLS_H
#define FUNCTIONS_SYMBOLS_H

#include "elf/file.h"

/* Both are loaded. False: the file has no such table (SHT_SYMTAB, SHT_DYNSYM). */
static inline bool functions_find_table(const struct elf_file *f, uint32_t type,
					struct elf_section *table, struct elf_section *text)
{
	for (size_t i = 0; i < elf_file_nr_sections(f); i++)
		if (elf_file_section(f, i, table) && table->type == type && table->is_held)
			return elf_file_section(f, table->link, text) && elf_file_load(f, table) &&
			       elf_file_load(f, text);
	return false;
}

#endif
