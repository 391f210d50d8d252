/*
 * An ELF file: segments, sections, bytes by address. Every byte is hostile: no claim of the file
 * makes us read outside it, and work is bounded. Ranges are copied by a reader when first asked
 * for, and stay valid whatever becomes of the file, so threads may share it. If the file cannot be
 * read further, or exceeds its budget, later calls find nothing; the reader's problem function
 * receives the reason, once. Source: the gABI, linux/elf.h.
 */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include "elf/build_id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct elf_file;
struct elf_reader;
struct stat;

/* The reader is borrowed; *st: as it was. Little-endian files of 32 or 64 bits, of at most 64 GiB.
 * -EINVAL: not such a file; -errno of the reader. */
int elf_file_open(struct elf_reader *reader, const char *path, struct elf_file **out,
		  struct stat *st, struct err *e);
/* The same over bytes in memory: borrowed (a vdso), or owned and freed with mem_free (what was
 * unpacked). Nothing is paid for it. */
int elf_file_open_mem(const void *data, size_t len, bool is_owned, const char *name,
		      struct elf_file **out, struct err *e);
void elf_file_close(struct elf_file *f); /* NULL is fine */

const char *elf_file_name(const struct elf_file *f); /* as given; copied */
bool elf_file_is_64(const struct elf_file *f);
uint16_t elf_file_machine(const struct elf_file *f);                    /* EM_… */
const struct elf_build_id *elf_file_build_id(const struct elf_file *f); /* len 0: none */

/* All of it, for libraries that parse for themselves: what was not loaded is 0. */
const uint8_t *elf_file_data(const struct elf_file *f, size_t *len);
/* A copy of that which may be written to; free it with munmap. NULL: no memory. */
void *elf_file_copy(const struct elf_file *f, size_t *len);
/* CRC-32 (that of zlib) of the whole file. False: it cannot be read. */
bool elf_file_crc32(const struct elf_file *f, uint32_t *out);
/* Charges memory or time to the file's budget. False: over the budget, which is reported. */
bool elf_file_pay(const struct elf_file *f, uint64_t bytes);
bool elf_file_spend(const struct elf_file *f, uint64_t ns);
/* The most memory that may still be made of it. */
uint64_t elf_file_bytes_left(const struct elf_file *f);

/* The address, as the file has it, of what its loadable segments map from this place in the file.
 */
bool elf_file_address(const struct elf_file *f, uint64_t offset, uint64_t *address);
/* The loadable segments, in the order of the file's headers; whole pages are mapped. */
struct elf_segment {
	uint64_t offset, address, file_bytes;
	bool is_code, is_writable;
};
size_t elf_file_nr_segments(const struct elf_file *f);
void elf_file_segment(const struct elf_file *f, size_t i, struct elf_segment *out);
/* The bytes of the loadable segments from an address on, at most max, and how many there are; NULL:
 * not in the file. */
const uint8_t *elf_file_bytes(const struct elf_file *f, uint64_t address, size_t max, size_t *len);

struct elf_section {
	const char *name; /* NUL-terminated; not cleaned */
	uint32_t number, type;
	uint64_t flags, address, offset, size, entry_bytes;
	uint32_t link, info;
	bool is_held;        /* it has bytes in the file: it is not NOBITS, nor outside of it */
	const uint8_t *data; /* size bytes, once loaded; compressed as stored */
};
size_t elf_file_nr_sections(const struct elf_file *f);
bool elf_file_section(const struct elf_file *f, size_t i, struct elf_section *out);
bool elf_file_find_section(const struct elf_file *f, const char *name, struct elf_section *out);
/* Fills in data. False: it has none, or it cannot be read. */
bool elf_file_load(const struct elf_file *f, struct elf_section *s);
/* Finds and loads. */
bool elf_file_load_section(const struct elf_file *f, const char *name, struct elf_section *out);

#endif
