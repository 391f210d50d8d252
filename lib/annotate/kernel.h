/*
 * The code of the kernel that runs, from /proc/kcore, which root may read unless the kernel is
 * locked down. What is read may be patched by the kernel meanwhile. Not thread-safe.
 */
#ifndef ANNOTATE_KERNEL_H
#define ANNOTATE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

struct annotate_kernel;
struct err;
struct root;

/* -errno with *e: it may not be read, or is not valid. root: of /proc. */
int annotate_kernel_open(const struct root *root, struct annotate_kernel **out, struct err *e);
void annotate_kernel_close(struct annotate_kernel *k);             /* NULL is fine */
uint16_t annotate_kernel_machine(const struct annotate_kernel *k); /* EM_… */
/* Reads up to len bytes at an address. How many: 0: none are there. */
size_t annotate_kernel_read(const struct annotate_kernel *k, uint64_t address, void *to,
			    size_t len);

#endif
