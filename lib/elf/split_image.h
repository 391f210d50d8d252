/*
 * An ELF file that is put together in memory, of sections for libdw. Private to split.c and
 * split_package.c.
 */
#ifndef ELF_SPLIT_IMAGE_H
#define ELF_SPLIT_IMAGE_H

#include "elf/split.h"

enum {
	SPLIT_IMAGE_PARTS = 16, /* sections, with those that are lent */
	SPLIT_IMAGE_NAMES_BYTES = 512,
};

/* Bytes are borrowed until the image is opened. */
struct split_image_part {
	const uint8_t *data;
	size_t len, before; /* zeros before the data */
	uint64_t flags;     /* of the section from which they are */
	uint32_t name;      /* in names */
};

/* Set names_len to 1: the first name is empty. */
struct split_image {
	struct split_image_part part[SPLIT_IMAGE_PARTS];
	size_t nr;
	char names[SPLIT_IMAGE_NAMES_BYTES];
	size_t names_len;
};

/* NULL: there is none of that name. */
struct split_image_part *split_image_find(struct split_image *m, const char *name);
/* Adds a part as a section of that name, if there is room. */
void split_image_add(struct split_image *m, const char *name, const struct split_image_part *part);
/* Adds what is lent, and opens a copy of all; memory is charged to the file from which the parts
 * are. As elf_dwarf_open; -ENODATA also: there is no part. */
int split_image_open(struct split_image *m, const struct elf_file *from,
		     const struct elf_split_lent *lent, struct elf_dwarf *out);

#endif
