/*
 * The address ranges of the kernel and its modules, from lines of /proc/kallsyms.
 */
#ifndef CPUPERF_PRINT_EXPORTS_PERF_DATA_KERNEL_H
#define CPUPERF_PRINT_EXPORTS_PERF_DATA_KERNEL_H

#include "base/dict.h"

#include <stdint.h>

struct buf;

/* A module, from its first to its last function. */
struct kernel_module {
	const char *name; /* "[ext4]" */
	uint64_t first, last;
};

/* Zero-initialise by kernel_init. */
struct kernel {
	uint64_t text, stext; /* the addresses of these symbols; 0: unknown */
	uint64_t last;        /* the last function of the kernel itself */
	struct dict modules;  /* struct kernel_module */
};

void kernel_init(struct kernel *k);
void kernel_fini(struct kernel *k);
/* Parses whole lines. 0 or -ENOMEM. */
int kernel_take(struct kernel *k, const char *text, size_t len);
/* Appends PERF_RECORD_MMAPs of all ranges; id: of the side band's event. */
void kernel_put(const struct kernel *k, struct buf *out, uint64_t id);

#endif
