/*
 * An ELF file's DWARF, as libdw sees it. Hostile: libdw checks what it reads, but takes memory for
 * what sections say they unpack to, so that is held against a limit first; and it may open a file
 * by itself where .gnu_debugaltlink names one, so that is for the caller to find and to set.
 * libdw is not thread-safe: one thread at a time for each elf_dwarf.
 */
#ifndef ELF_DWARF_H
#define ELF_DWARF_H

#include "elf/file.h"

#include <elfutils/libdw.h>

struct elf_dwarf {
	Dwarf *dwarf;
	Elf *elf;
	void *copy; /* owned; of a file with packed sections: libelf writes into its headers when it
		       unpacks them. NULL: there are none */
	size_t copy_len;
};

/* f must outlive *out; it pays for what is unpacked. 0; -ENODATA: it has no DWARF, or none that
 * libdw takes; -EFBIG: it says to unpack to more than it can; -ENOMEM, as when it takes too much.
 */
int elf_dwarf_open(const struct elf_file *f, struct elf_dwarf *out);
void elf_dwarf_close(struct elf_dwarf *d); /* zeroed is fine */
/* The tables of lines of all units, unpacked; NULL: there are none. */
const uint8_t *elf_dwarf_lines(const struct elf_dwarf *d, size_t *len);

/* The build-id of the file that holds what this and other files share (.gnu_debugaltlink). False:
 * it needs none. A link that makes no sense has a build-id of length 0. */
bool elf_dwarf_needs(const struct elf_file *f, struct elf_build_id *out);

#endif
