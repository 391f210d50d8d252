/*
 * DWARF expressions in unwind tables, evaluated over a frame's registers and stack. Bounded, since
 * expressions can jump backwards. Source: DWARF 5, 2.5 and 6.4.2.
 */
#ifndef CFI_EXPR_H
#define CFI_EXPR_H

#include "cfi/frame.h"

#include <stddef.h>

/* Points into the table. */
struct cfi_expr {
	const uint8_t *bytes;
	size_t len;
};

/* Evaluates the expression, after pushing *cfa unless it is NULL. CFI_GOES_ON, or why it failed. */
enum cfi_end cfi_expr_run(const struct cfi_expr *e, const struct cfi_frame *f, const uint64_t *cfa,
			  uint64_t *out);

#endif
