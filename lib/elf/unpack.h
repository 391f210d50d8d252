/*
 * Unpacks .gnu_debugdata: a small ELF file, compressed with xz. The data is hostile; memory is
 * bounded.
 */
#ifndef ELF_UNPACK_H
#define ELF_UNPACK_H

#include <stddef.h>
#include <stdint.h>

/* *out is freed with mem_free. 0; -EFBIG: longer than max_len, or unpacking needs more than 128
 * MiB; -EINVAL: damaged; -ENOMEM. */
int elf_unpack_xz(const uint8_t *data, size_t len, size_t max_len, uint8_t **out, size_t *out_len);

#endif
