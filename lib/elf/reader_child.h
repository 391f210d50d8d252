/*
 * The child of elf/reader.c, and what the two say to each other over a socket.
 */
#ifndef ELF_READER_CHILD_H
#define ELF_READER_CHILD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct elf_reader_question {
	uint64_t offset, len; /* len 0: only look */
	uint64_t held_len;    /* from offset on: that so much is there, and not a hole */
	bool refuses_links, may_grow;
	char path[PATH_MAX];
};

struct elf_reader_answer {
	int rc;
	struct stat st;
};

/* Answers until the socket is closed. */
void elf_reader_serve(int fd, const void *none);
/* Sends all of it; false: nobody takes it. */
bool elf_reader_give(int fd, const void *data, size_t len);
/* Is b the file that a was? may_grow: or has it only become longer? */
bool elf_reader_is_same(const struct stat *a, const struct stat *b, bool may_grow);

#endif
