/*
 * Whether the ends of a function's calls can be seen, too, by replacing bytes where it leaves: each
 * return, and each jump to another function. Then its calls have times, and no return address is
 * changed: unwinders, exceptions and longjmp see none of it.
 *
 * All ends or none: a call whose end is missed would go on for ever. A jump takes 5 bytes: a return
 * has them if padding follows it, or if the instructions before it are moved with it, as at a begin
 * (patch/plan.h). Only instructions that go on to the next one are moved.
 *
 * What else may lead into the bytes only the caller sees, as of begins: other code of the file,
 * symbols, relocations, and the landing pads of exceptions. It scans the spans of ends, too.
 */
#ifndef PATCH_EXITS_H
#define PATCH_EXITS_H

#include "patch/plan.h"

enum { PATCH_MAX_EXITS = 64 };

enum patch_untimed {
	PATCH_TIMED,
	PATCH_NEVER_RETURNS,
	PATCH_HAS_MANY_EXITS,
	PATCH_IS_TOO_SHORT,        /* what is replaced at its begin and at an end overlaps */
	PATCH_HAS_NO_DEPTH,        /* of the stack at an end, or at its begin */
	PATCH_EXIT_IS_SHORT,       /* shorter than a jump, with what may be moved */
	PATCH_EXIT_IS_ENTERED,     /* a branch into its bytes */
	PATCH_EXIT_MAY_BE_ENTERED, /* by an indirect jump */
	PATCH_LEAVES_INDIRECTLY,   /* a jump of which it is not known whether it leaves */
	PATCH_LEAVES_BY_BRANCH,    /* to what may be a part of it, or under a condition */
	PATCH_FALLS_THROUGH,       /* into what is behind it */
	PATCH_NR_UNTIMED,
};

/* The function's ends, in order; begin: its plan, which becomes one of PATCH_BEGINS. PATCH_TIMED,
 * or why its calls are only counted: then nothing is changed. No heap. */
enum patch_untimed patch_exits(const struct patch_function *f, struct patch_plan *begin,
			       struct patch_plan exits[PATCH_MAX_EXITS], size_t *nr);

/* Why, for people: "it does not return", … */
const char *patch_untimed_text(enum patch_untimed untimed);

#endif
