/*
 * The DWARF of an ELF file, by libdw. Files are hostile: libdw checks what it reads, but it may
 * also open the file named in .gnu_debugaltlink, so the caller must find and set that. libdw is not
 * thread-safe: use an elf_dwarf in one thread at a time.
 */
#ifndef ELF_DWARF_H
#define ELF_DWARF_H

#include "elf/file.h"

#include <elfutils/libdw.h>

struct elf_dwarf {
	Dwarf *dwarf;
	Elf *elf;
	void *copy; /* owned; NULL: elf borrows from the file */
	size_t copy_len;
};

/* f must outlive *out; unpacked bytes are charged to its budget. 0; -ENODATA: no DWARF, or not
 * valid for libdw; -EBADMSG: a compressed section is damaged, of a method that is not known, or
 * declares to unpack to more than possible; -ENOMEM, also for the budget. */
int elf_dwarf_open(const struct elf_file *f, struct elf_dwarf *out);
/* The same of an image made from such files, which was mapped with mmap; takes it, also if it
 * fails. */
int elf_dwarf_open_copy(void *copy, size_t len, struct elf_dwarf *out);
void elf_dwarf_close(struct elf_dwarf *d); /* a zeroed one is allowed */
/* A section that libdw has read, unpacked; what as in "line", the line tables of all units.
 * NULL: none. */
const uint8_t *elf_dwarf_section(const struct elf_dwarf *d, const char *what, size_t *len);

/* Calls fn for each unit, until it returns what is not 0, and returns that; 0 also without DWARF,
 * or if that needs another file's. */
int elf_dwarf_each_unit(const struct elf_file *f,
			int (*fn)(const struct elf_dwarf *d, Dwarf_Die *unit, void *arg),
			void *arg);

/* The build-id in .gnu_debugaltlink, of a file that several debug files share. False: no link. An
 * invalid link has a build-id of length 0. */
bool elf_dwarf_needs(const struct elf_file *f, struct elf_build_id *out);

#endif
