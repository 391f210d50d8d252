/*
 * The kernel of a perf.data file, which does not hold its symbols: those of the kernel that runs
 * here, if it is the same one, or of its debug file.
 */
#ifndef CPUPERF_PRINT_PERF_KERNEL_H
#define CPUPERF_PRINT_PERF_KERNEL_H

#include "base/buf.h"

#include <pthread.h>
#include <stdbool.h>

struct elf_finder;
struct import;
struct import_facts;
struct problems;
struct symbols;

/* /proc/kallsyms of the kernel that runs, read once for all files. */
struct perf_kernel {
	struct buf kallsyms;
	pthread_t reader;
	bool is_reading, has_read;
};

void perf_kernel_init(struct perf_kernel *k);
void perf_kernel_fini(struct perf_kernel *k);
/* Starts reading in a thread, if the file's kernel runs here: it takes as long as the pass over the
 * file. */
void perf_kernel_read_ahead(struct perf_kernel *k, const struct import_facts *f);
/* True if the file was recorded here since the last boot, and the kernel has not moved. */
bool perf_kernel_is_same_boot(struct perf_kernel *k, const struct import_facts *f);
/* Adds what is known of the kernel to symbols, and reports what is not. path names the file in
 * messages; 0 or -ENOMEM. */
int perf_kernel_add_symbols(struct perf_kernel *k, const struct import *im, const char *path,
			    struct elf_finder *finder, struct symbols *symbols,
			    struct problems *problems);

#endif
