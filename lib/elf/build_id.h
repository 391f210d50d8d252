/*
 * The build-id that linkers write into a program or library: it identifies a file whatever its
 * name. Source: the gABI (program headers, notes). Files are hostile.
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
 * Reads the build-id of an open file, with pread: a little-endian file of 32 or 64 bits with at
 * most 256 program headers, of which it reads the first 8 note segments, 64 KiB each. 0; -ENODATA:
 * it has none; -EINVAL: not a regular file, not such an ELF file, or invalid; -ENOMEM; -errno of
 * reading.
 */
int elf_build_id_read(int fd, struct elf_build_id *out);

/* The same from the content of a note segment or section. align: its alignment; 4 unless 8. */
bool elf_build_id_in_notes(const uint8_t *notes, size_t len, uint64_t align,
			   struct elf_build_id *out);
bool elf_build_id_equal(const struct elf_build_id *a, const struct elf_build_id *b);

#endif
