/*
 * The build-id that linkers put into a program or library: it tells which file was mapped, whatever
 * its name is. Source: the gABI (program headers, notes), linux/elf.h. Every byte of the file is
 * hostile. Knows nothing of processes and mappings.
 */
#ifndef ELF_BUILD_ID_H
#define ELF_BUILD_ID_H

#include <stdint.h>

enum { ELF_MAX_BUILD_ID_BYTES = 20 };

struct elf_build_id {
	uint8_t len; /* 1 … 20; 0: none */
	uint8_t bytes[ELF_MAX_BUILD_ID_BYTES];
};

/*
 * Reads it from an open file, with pread. A little-endian file of 32 or 64 bits, with at most 256
 * program headers; of its first 8 segments of notes, 64 KiB each. 0; -ENODATA: it has none;
 * -EINVAL: not a regular file, not such an ELF file, or one that makes no sense; -ENOMEM; -errno of
 * reading.
 */
int elf_build_id_read(int fd, struct elf_build_id *out);

#endif
