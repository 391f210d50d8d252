/*
 * An ELF file, mapped and looked into: segments, sections, bytes by address. Every byte is hostile:
 * whatever it claims, nothing outside the file is touched, and work is bounded. Once open it does
 * not change: threads may share it. What mmap cannot help: if somebody cuts the file off while it
 * is open, the kernel sends SIGBUS; who may write to what ran may do worse. Source: the gABI,
 * linux/elf.h. Knows nothing of symbols, of processes and of where files are found.
 */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include "elf/build_id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct elf_file;

/* Takes nothing over; fd may be closed after. Little-endian files of 32 or 64 bits. -EINVAL: not
 * such a file. */
int elf_file_open_fd(int fd, const char *name, struct elf_file **out, struct err *e);
/* The same over bytes in memory: borrowed (a vdso), or owned and freed with mem_free (what was
 * unpacked). */
int elf_file_open_mem(const void *data, size_t len, bool is_owned, const char *name,
		      struct elf_file **out, struct err *e);
void elf_file_close(struct elf_file *f); /* NULL is fine */

const char *elf_file_name(const struct elf_file *f); /* as given; copied */
bool elf_file_is_64(const struct elf_file *f);
uint16_t elf_file_machine(const struct elf_file *f);                    /* EM_… */
const struct elf_build_id *elf_file_build_id(const struct elf_file *f); /* len 0: none */

/* All of it, for libraries that parse for themselves. */
const uint8_t *elf_file_data(const struct elf_file *f, size_t *len);

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
/* The bytes of the loadable segments from an address on, and how many there are; NULL: not in the
 * file. */
const uint8_t *elf_file_bytes(const struct elf_file *f, uint64_t address, size_t *len);

struct elf_section {
	const char *name; /* NUL-terminated; not cleaned */
	uint32_t number, type;
	uint64_t flags, address, offset, size, entry_bytes;
	uint32_t link, info;
	const uint8_t *data; /* size bytes; NULL for those without (NOBITS) or outside the file.
				Compressed as stored */
};
size_t elf_file_nr_sections(const struct elf_file *f);
bool elf_file_section(const struct elf_file *f, size_t i, struct elf_section *out);
bool elf_file_find_section(const struct elf_file *f, const char *name, struct elf_section *out);

#endif
