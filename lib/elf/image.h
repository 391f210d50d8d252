/*
 * ELF notes of an object that is mapped into a process, read from its memory: the file may be gone,
 * in another mount namespace, or changed. Source: the gABI (program headers, notes). What is read
 * is hostile.
 */
#ifndef ELF_IMAGE_H
#define ELF_IMAGE_H

#include <stddef.h>
#include <stdint.h>

struct elf_image {
	/* Reads memory of the process. 0 or -errno, also if less could be read. */
	int (*read)(void *arg, uint64_t address, void *to, size_t len);
	void *arg;
	uint64_t start; /* where the first byte of the object is mapped */
};

/* A note's content is at address; len bytes of it are at content. Non-zero ends the search. */
typedef int elf_image_note_fn(void *arg, uint64_t address, const uint8_t *content, size_t len);

/* Calls fn for each note of that owner and type, of an object of 64 bits with at most 256 program
 * headers, of which the first 8 note segments are read, 64 KiB each. What fn returned, 0, -EINVAL:
 * no such object; -ENOMEM; -errno of reading. */
int elf_image_each_note(const struct elf_image *image, const char *owner, uint32_t type,
			elf_image_note_fn *fn, void *arg);

#endif
