/*
 * The memory of another process, which may be anything.
 */
#ifndef RUNTIMES_REMOTE_H
#define RUNTIMES_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads all of it. False, with errno: some of it cannot be read. */
bool remote_read(uint32_t pid, uint64_t address, void *to, size_t bytes);

/* What does not change, such as a program's own tables: pages of it are kept. */
enum { REMOTE_PAGE_BYTES = 4096, REMOTE_NR_PAGES = 64 };
struct remote {
	uint32_t pid;
	struct remote_page {
		uint64_t address;
		bool is_kept;
		uint8_t bytes[REMOTE_PAGE_BYTES];
	} page[REMOTE_NR_PAGES];
};

/* As remote_read, by pages that are kept. */
bool remote_copy(struct remote *r, uint64_t address, void *to, size_t bytes);
/* Text that ends with a NUL within size bytes. False: it does not, or cannot be read. */
bool remote_text(struct remote *r, uint64_t address, char *to, size_t size);

#endif
