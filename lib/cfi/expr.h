/*
 * DWARF expressions as unwind tables have them, over the registers and the stack of a frame.
 * Bounded: expressions may jump back. Source: DWARF 5, 2.5 and 6.4.2.
 */
#ifndef CFI_EXPR_H
#define CFI_EXPR_H

#include "cfi/frame.h"

#include <stddef.h>

/* Bytes of the table. */
struct cfi_expr {
	const uint8_t *bytes;
	size_t len;
};

/* Evaluates the expression. cfa, if not NULL, is pushed first. CFI_GOES_ON, or why it failed. */
enum cfi_end cfi_expr_run(const struct cfi_expr *e, const struct cfi_frame *f, const uint64_t *cfa,
			  uint64_t *out);

#endif
