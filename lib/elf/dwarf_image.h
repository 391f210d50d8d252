/*
 * An ELF file that is put together in memory, of sections for libdw. Private to the room.
 */
#ifndef ELF_DWARF_IMAGE_H
#define ELF_DWARF_IMAGE_H

#include "elf/split.h"

enum {
	DWARF_IMAGE_PARTS = 16, /* sections, with those that are lent */
	DWARF_IMAGE_NAMES_BYTES = 512,
};

/* Bytes are borrowed until the image is opened. */
struct dwarf_image_part {
	const uint8_t *data;
	size_t len, before; /* zeros before the data */
	uint32_t name;      /* in names */
};

/* Set names_len to 1: the first name is empty. */
struct dwarf_image {
	struct dwarf_image_part part[DWARF_IMAGE_PARTS];
	size_t nr;
	char names[DWARF_IMAGE_NAMES_BYTES];
	size_t names_len;
};

/* NULL: there is none of that name. */
struct dwarf_image_part *dwarf_image_find(struct dwarf_image *m, const char *name);
/* Adds a part as a section of that name, if there is room. */
void dwarf_image_add(struct dwarf_image *m, const char *name, const struct dwarf_image_part *part);
/* Adds what is lent (NULL: nothing), and opens a copy of all; memory is charged to the file from
 * which the parts are. As elf_dwarf_open; -ENODATA also: there is no part. */
int dwarf_image_open(struct dwarf_image *m, const struct elf_file *from,
		     const struct elf_split_lent *lent, struct elf_dwarf *out);

#endif
