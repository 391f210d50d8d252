/*
 * Unpacks .gnu_debugdata (a small ELF file, compressed with xz), and compressed debug sections. The
 * data is hostile; memory is bounded.
 */
#ifndef ELF_UNPACK_H
#define ELF_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out is freed with mem_free. 0; -EFBIG: longer than max_len, or unpacking needs more than 128
 * MiB; -EINVAL: damaged; -ENOMEM. */
int elf_unpack_xz(const uint8_t *data, size_t len, size_t max_len, uint8_t **out, size_t *out_len);

/* A compressed section. */
struct elf_packed {
	const uint8_t *data; /* borrowed; after the header */
	size_t len, unpacked_len;
	bool is_zstd; /* else zlib */
};
/* word: bytes of the header's sizes, 4 or 8, of a section with SHF_COMPRESSED; 0: .zdebug_NAME.
 * False: not such a section, compressed by another method, or it declares to unpack to nothing or
 * to more than possible. */
bool elf_packed_decode(const uint8_t *data, size_t len, unsigned word, struct elf_packed *out);
/* Writes all of unpacked_len bytes. False: damaged. */
bool elf_unpack(const struct elf_packed *p, uint8_t *out);

#endif
