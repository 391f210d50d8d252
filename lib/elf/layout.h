/*
 * Where the headers of ELF files of 32 and 64 bits have their fields. Source: the gABI, elf.h.
 */
#ifndef ELF_LAYOUT_H
#define ELF_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* Offsets of fields in Elf32_Ehdr, Elf32_Phdr, Elf32_Shdr, or those of 64 bits. */
struct elf_layout {
	uint8_t word; /* bytes of an offset, size or address */
	uint8_t ehdr_bytes, phdr_bytes, shdr_bytes;
	struct {
		uint8_t phoff, shoff, phentsize, phnum, shentsize, shnum, shstrndx;
	} e;
	struct {
		uint8_t flags, offset, vaddr, filesz, align;
	} p;
	struct {
		uint8_t flags, addr, offset, size, link, info, addralign, entsize;
	} s;
};

/* The layout of a file that begins with data; NULL: not little-endian ELF, or less than a header.
 */
const struct elf_layout *elf_layout_find(const uint8_t *data, size_t len);

static inline uint64_t elf_load(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

#endif
