/*
 * The rules of code that was made at run time: by the table that its compiler wrote, or by its
 * shape. Tables are hostile.
 *
 * The trampolines of Python have a shape and no table. report_find_made leads from the room
 * symbol, which has the code, to this one.
 */
#ifndef UNWIND_MADE_H
#define UNWIND_MADE_H

#include "cfi/rules.h"
#include "unwind/unwind.h"

/* At the frame. False: neither is known. */
bool unwind_made_rules(const struct unwind_made *made, const struct cfi_frame *frame,
		       struct cfi_rules *out);

#endif
