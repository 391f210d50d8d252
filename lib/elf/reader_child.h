/*
 * The child of elf/reader.c, and their messages.
 */
#ifndef ELF_READER_CHILD_H
#define ELF_READER_CHILD_H

#include "elf/rights.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct elf_reader_question {
	uint64_t offset, len; /* len 0: only stat */
	uint64_t held_len; /* from offset on, this many bytes must exist and not be mostly holes */
	bool is_start;     /* instead: as many of the first len bytes as there are, perhaps none */
	bool refuses_links, may_grow;
	struct elf_rights rights;
	size_t root_len; /* as of elf_reader_file */
	bool is_own_root, is_of_kernel;
	char path[PATH_MAX];
};

struct elf_reader_answer {
	int rc;
	struct stat st;
	uint64_t len; /* of the bytes that follow, and then an int: 0, or why they are invalid */
};

/* Answers until the socket is closed. */
void elf_reader_serve(int fd, const void *none);
/* Sends all of it; false: the other side has gone. */
bool elf_reader_send(int fd, const void *data, size_t len);
/* Whether b is the same, unchanged file as a. may_grow: it may be longer. */
bool elf_reader_is_same(const struct stat *a, const struct stat *b, bool may_grow);

#endif
