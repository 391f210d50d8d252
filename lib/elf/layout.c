/*
 * The layouts of both classes.
 */
#include "elf/layout.h"

#include <elf.h>
#include <string.h>

#define AT(type, field) offsetof(type, field)
#define LAYOUT(w)                                                                                  \
	{                                                                                          \
		.word = sizeof(Elf##w##_Off), .ehdr_bytes = sizeof(Elf##w##_Ehdr),                 \
		.phdr_bytes = sizeof(Elf##w##_Phdr), .shdr_bytes = sizeof(Elf##w##_Shdr),          \
		.e = {AT(Elf##w##_Ehdr, e_phoff),     AT(Elf##w##_Ehdr, e_shoff),                  \
		      AT(Elf##w##_Ehdr, e_phentsize), AT(Elf##w##_Ehdr, e_phnum),                  \
		      AT(Elf##w##_Ehdr, e_shentsize), AT(Elf##w##_Ehdr, e_shnum),                  \
		      AT(Elf##w##_Ehdr, e_shstrndx)},                                              \
		.p = {AT(Elf##w##_Phdr, p_flags), AT(Elf##w##_Phdr, p_offset),                     \
		      AT(Elf##w##_Phdr, p_vaddr), AT(Elf##w##_Phdr, p_filesz),                     \
		      AT(Elf##w##_Phdr, p_align)},                                                 \
		.s = {AT(Elf##w##_Shdr, sh_flags),     AT(Elf##w##_Shdr, sh_addr),                 \
		      AT(Elf##w##_Shdr, sh_offset),    AT(Elf##w##_Shdr, sh_size),                 \
		      AT(Elf##w##_Shdr, sh_link),      AT(Elf##w##_Shdr, sh_info),                 \
		      AT(Elf##w##_Shdr, sh_addralign), AT(Elf##w##_Shdr, sh_entsize)},             \
	}

static const struct elf_layout layouts[] = {LAYOUT(32), LAYOUT(64)};

const struct elf_layout *elf_layout_find(const uint8_t *data, size_t len)
{
	const struct elf_layout *l;

	if (len < EI_NIDENT || memcmp(data, ELFMAG, SELFMAG) != 0 || data[EI_DATA] != ELFDATA2LSB ||
	    data[EI_CLASS] < ELFCLASS32 || data[EI_CLASS] > ELFCLASS64)
		return NULL;
	l = &layouts[data[EI_CLASS] - ELFCLASS32];
	return len < l->ehdr_bytes ? NULL : l;
}
