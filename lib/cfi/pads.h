/*
 * Where a function goes on when an exception is caught in it: its landing pads, which nothing in
 * its code leads to (.gcc_except_table, the LSDA of C++ and Rust). Files are hostile.
 */
#ifndef CFI_PADS_H
#define CFI_PADS_H

#include "cfi/program.h"

#include <stddef.h>

/* Calls fn with the address of each. bytes: at fde->pads, up to the end of what there is. False:
 * the table is not understood. */
bool cfi_pads_each(const struct cfi_fde *fde, const uint8_t *bytes, size_t len,
		   void (*fn)(void *arg, uint64_t address), void *arg);

#endif
