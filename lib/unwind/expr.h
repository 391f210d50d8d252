/*
 * DWARF expressions as unwind tables have them, over the registers and the stack of a frame.
 * Bounded: expressions may jump back. Source: DWARF 5, 2.5 and 6.4.2.
 */
#ifndef UNWIND_EXPR_H
#define UNWIND_EXPR_H

#include "unwind/frame.h"

#include <elfutils/libdw.h>

enum unwind_place {
	UNWIND_PLACE_STACK = 1, /* the value is an address: what is wanted lies there */
	UNWIND_PLACE_VALUE,     /* what is wanted itself */
	UNWIND_PLACE_REG,       /* it is in the register of this number */
};

/* cfa: what DW_OP_call_frame_cfa means. Goes on, or why not. */
int unwind_expr(const struct unwind_frame *f, uint64_t cfa, const Dwarf_Op *ops, size_t nr,
		enum unwind_place *place, uint64_t *out);

#endif
