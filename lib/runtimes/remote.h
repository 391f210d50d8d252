/*
 * What does not change in the memory of another process, such as a program's own tables: pages of
 * it are kept.
 */
#ifndef RUNTIMES_REMOTE_H
#define RUNTIMES_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REMOTE_PAGE_BYTES = 4096, REMOTE_NR_PAGES = 64 };
struct remote {
	uint32_t pid;
	struct remote_page {
		uint64_t address;
		bool is_kept;
		uint8_t bytes[REMOTE_PAGE_BYTES];
	} page[REMOTE_NR_PAGES];
};

/* From now on pages are read again. */
void remote_forget(struct remote *r);
/* As proc_memory_read, by pages that are kept. */
bool remote_copy(struct remote *r, uint64_t address, void *to, size_t bytes);
/* Text that ends with a NUL within size bytes. False: it does not, or cannot be read. */
bool remote_text(struct remote *r, uint64_t address, char *to, size_t size);

#endif
