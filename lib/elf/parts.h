/*
 * Which parts of a program or library hold the names of its functions, and what stacks are
 * unwound with: all that is stored of a file that will not be found later. The file is hostile.
 * Source: the gABI.
 */
#ifndef ELF_PARTS_H
#define ELF_PARTS_H

#include "base/range.h"

#include <stddef.h>

enum { ELF_MAX_PARTS = 64 };

struct elf_parts {
	struct range part[ELF_MAX_PARTS]; /* ascending; they do not touch each other */
	size_t nr;
	uint64_t bytes;      /* of all */
	uint64_t file_bytes; /* of the file, when they were found */
};

/*
 * Finds the parts of an open file, with pread: headers, notes with the build-id, and then, as long
 * as all have at most max_bytes together, symbols before unwind tables. 0; -ENODATA: nothing
 * of it names or unwinds, or there is no room for that; -EINVAL: not a little-endian ELF file, or
 * invalid; -ENOMEM; -errno of reading.
 */
int elf_parts_find(int fd, uint64_t max_bytes, struct elf_parts *out);

#endif
