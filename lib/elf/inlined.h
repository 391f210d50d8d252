/*
 * Where a compiler has put functions into others: in DWARF. Each place is one at which no call of
 * the function is made. Files are hostile: entries and depth are bounded, and time is charged.
 */
#ifndef ELF_INLINED_H
#define ELF_INLINED_H

#include "elf/file.h"

/* Counts the places of functions of which matches says that they are meant, by their name of the
 * linker, or without one that of the source. 0: none, or no DWARF of its own. Units in other files
 * (-gsplit-dwarf) are not read. */
size_t elf_inlined_count(const struct elf_file *f, bool (*matches)(const char *name, void *arg),
			 void *arg);

#endif
