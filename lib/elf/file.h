/*
 * An ELF file: segments, sections, bytes by address. Files are hostile: all accesses are checked,
 * and work is bounded. A reader copies ranges on first use; they stay valid if the file changes, so
 * threads may share it; more is read of it only while its bytes are those that were read before.
 * After a read error or an exceeded budget, later calls find nothing; the reader's problem function
 * receives the reason, once. Source: the gABI.
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
struct elf_reader_file;
struct elf_rights;
struct range;
struct stat;

/* The reader is borrowed; *st: when it was opened. Accepts little-endian files of 32 or 64 bits, up
 * to 64 GiB. -EINVAL: another file; -errno of the reader. */
int elf_file_open(struct elf_reader *reader, const char *path, struct elf_file **out,
		  struct stat *st, struct err *e);
/* The same of a path with rights, and a folder that is not left: where borrowed. */
int elf_file_open_as(struct elf_reader *reader, const struct elf_reader_file *where,
		     struct elf_file **out, struct stat *st, struct err *e);
/* The same from memory: borrowed (a vdso), or owned and freed with mem_free (unpacked data). Has no
 * budget. */
int elf_file_open_mem(const void *data, size_t len, bool is_owned, const char *name,
		      struct elf_file **out, struct err *e);
/* The same of parts of a file that was stored elsewhere (elf/parts.h), within the reader's budget.
 * What is not in them is not there: sections, addresses. Copied. Names in it are opened as nobody.
 */
struct elf_file_parts {
	const struct range *part; /* ascending */
	size_t nr;
	const uint8_t *bytes; /* of all parts, one after the other */
	uint64_t file_bytes;
};
int elf_file_open_parts(struct elf_reader *reader, const struct elf_file_parts *parts,
			const char *name, struct elf_file **out, struct err *e);
void elf_file_close(struct elf_file *f); /* NULL is fine */

const char *elf_file_name(const struct elf_file *f); /* as passed; copied */
/* With which a file is opened whose name this one has: those of whoever wrote it, as far as it was
 * opened with more. Of memory: all. */
struct elf_rights elf_file_rights(const struct elf_file *f);
/* > 0: so many bytes of its name are the root folder of a process, in which its paths begin. */
size_t elf_file_root_len(const struct elf_file *f);
bool elf_file_is_64(const struct elf_file *f);
/* Its table of sections, which linkers write last, does not end within it. */
bool elf_file_is_truncated(const struct elf_file *f);
uint16_t elf_file_machine(const struct elf_file *f);                    /* EM_… */
const struct elf_build_id *elf_file_build_id(const struct elf_file *f); /* len 0: none */

/* The whole image, for libraries that parse ELF; what was not loaded is 0. */
const uint8_t *elf_file_data(const struct elf_file *f, size_t *len);
/* CRC-32 of the whole file (as zlib's). False: it cannot be read. */
bool elf_file_crc32(const struct elf_file *f, uint32_t *out);
/* Charges memory or time to the file's budget. False: exceeded, which is reported. */
bool elf_file_pay(const struct elf_file *f, uint64_t bytes);
bool elf_file_spend(const struct elf_file *f, uint64_t ns);
/* The memory left in its budget. */
uint64_t elf_file_bytes_left(const struct elf_file *f);

/* The address, in the file, to which its loadable segments map this file offset. */
bool elf_file_address(const struct elf_file *f, uint64_t offset, uint64_t *address);
/* The same of where a mapping begins, which is of code or not. It begins at a page, so its first
 * bytes in the file may be those of the segment before, whose addresses are others. */
bool elf_file_mapping_address(const struct elf_file *f, uint64_t offset, bool is_code,
			      uint64_t *address);
/* The loadable segments, in the order of the program headers. */
struct elf_segment {
	uint64_t offset, address, file_bytes;
	uint64_t page_bytes; /* the alignment; 1: none */
	bool is_code, is_writable;
};
size_t elf_file_nr_segments(const struct elf_file *f);
void elf_file_segment(const struct elf_file *f, size_t i, struct elf_segment *out);
/* Up to max bytes at an address of a loadable segment; *len: how many. NULL: not in the file. */
const uint8_t *elf_file_bytes(const struct elf_file *f, uint64_t address, size_t max, size_t *len);

struct elf_section {
	const char *name; /* NUL-terminated; from the file, not sanitised */
	uint32_t number, type;
	uint64_t flags, address, offset, entry_bytes;
	uint64_t size; /* in the file; once loaded, of data */
	uint32_t link, info;
	bool is_held;        /* has content within the file (not NOBITS) */
	bool is_packed;      /* compressed in the file: SHF_COMPRESSED, or .zdebug_NAME */
	bool is_damaged;     /* cannot be unpacked; once it should have been loaded */
	const uint8_t *data; /* size bytes, once loaded, unpacked */
};
size_t elf_file_nr_sections(const struct elf_file *f);
bool elf_file_section(const struct elf_file *f, size_t i, struct elf_section *out);
/* .debug_NAME is also found as .zdebug_NAME. */
bool elf_file_find_section(const struct elf_file *f, const char *name, struct elf_section *out);
/* That of names by which elf_file_find_section finds the section; NULL: none. */
const char *elf_section_name_in(const struct elf_section *s, const char *const *names, size_t nr);
/* Sets s->data; what is compressed is unpacked once, charged to the budget. False: no content, not
 * readable, or not unpackable. */
bool elf_file_load(const struct elf_file *f, struct elf_section *s);
/* The same of a part: *s becomes it. */
bool elf_file_load_part(const struct elf_file *f, struct elf_section *s, uint64_t at, uint64_t len);
/* elf_file_find_section, then elf_file_load. */
bool elf_file_load_section(const struct elf_file *f, const char *name, struct elf_section *out);

#endif
