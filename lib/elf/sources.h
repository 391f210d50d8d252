/*
 * Which source file has a function, by the DWARF of its file. Files are hostile: what is read is
 * within the file's budget.
 */
#ifndef ELF_SOURCES_H
#define ELF_SOURCES_H

#include <stddef.h>
#include <stdint.h>

struct elf_file;

/* Calls found for each function at one of nr ascending addresses of which the file is known, with
 * its path as the compiler had it, borrowed; maybe twice. */
void elf_sources_find(const struct elf_file *f, const uint64_t *address, size_t nr,
		      void (*found)(void *arg, size_t i, const char *path), void *arg);

#endif
