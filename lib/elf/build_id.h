/*
 * The build-id that linkers put into a program or library: it tells which file was mapped, whatever
 * its name is. Source: the gABI (program headers, notes), linux/elf.h. Every byte of the file is
 * hostile. Knows nothing of processes and mappings.
 */
#ifndef ELF_BUILD_ID_H
#define ELF_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
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

/* The same from the bytes of one segment or section of notes; align: theirs, 4 unless 8. */
bool elf_build_id_in_notes(const uint8_t *notes, size_t len, uint64_t align,
			   struct elf_build_id *out);
bool elf_build_id_equal(const struct elf_build_id *a, const struct elf_build_id *b);

#endif
