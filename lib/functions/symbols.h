/*
 * What this room asks of files: a table of symbols with its text; Go.
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

/* Whether a file has code of Go. */
static inline bool functions_is_go(const struct elf_file *f)
{
	struct elf_section s;

	return elf_file_find_section(f, ".gopclntab", &s) ||
	       elf_file_find_section(f, ".go.buildinfo", &s) ||
	       elf_file_find_section(f, ".note.go.buildid", &s);
}

#endif
