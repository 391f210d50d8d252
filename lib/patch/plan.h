/*
 * Whether calls of a function can be seen by replacing bytes at its begin, and which bytes.
 *
 * A jump takes 5 bytes. The instructions that it covers are moved into a trampoline (move.h);
 * behind an endbr64, which stays, since indirect calls must find it. Or, where a direct call
 * follows within these bytes, that call is redirected, and nothing moves: what comes before it is
 * executed once for each call of the function, as nothing else leads there. A call is never moved:
 * its return address would be in the trampoline, where no unwinder finds a function.
 *
 * What must hold is that nobody enters the bytes but at their begin, and nobody their begin but
 * callers. Of the function's own code that is proved (plan.c). What else may lead there only the
 * caller sees: other code of the file (patch_scan), symbols and relocations with such an address
 * (patch_scan_mark). And a handler of SIGSEGV that compares the address of an instruction with a
 * table does not find one that was moved: runtimes that turn faults into exceptions are not to be
 * patched.
 */
#ifndef PATCH_PLAN_H
#define PATCH_PLAN_H

#include "patch/scan.h"

enum {
	PATCH_JUMP_BYTES = 5,
	PATCH_SITE_BYTES = 6,   /* the most that is replaced */
	PATCH_MOVED_BYTES = 19, /* the most that is moved: 4 and an instruction */
};

enum patch_refusal {
	PATCH_ACCEPTED,
	PATCH_TOO_SHORT,
	PATCH_NOT_UNDERSTOOD, /* an instruction of the function */
	PATCH_LOOPS,          /* a branch to the begin */
	PATCH_IS_ENTERED,     /* a branch into the bytes */
	PATCH_MAY_BE_ENTERED, /* by an indirect jump */
	PATCH_NOT_MOVABLE,    /* an instruction in the bytes */
	PATCH_HAS_CALL,       /* one that cannot be redirected */
	PATCH_IS_SPLIT,       /* code that nothing known leads to is in the bytes */
	PATCH_NR_REFUSALS,
};

/* What the code does to which the bytes lead. */
enum patch_kind {
	PATCH_COUNTS, /* a call */
	PATCH_BEGINS, /* it sees the begin of a call */
	PATCH_ENDS,   /* and its end (patch/exits.h) */
};

/* Where code leads that leaves the function. */
enum patch_leaving {
	PATCH_LEAVES_UNKNOWN,
	PATCH_LEAVES_FOR_GOOD, /* to another function, which returns in its place */
	PATCH_LEAVES_NEVER,    /* to a part of it, or to another, from which nothing returns */
};

struct patch_function {
	struct patch_code code;
	size_t padding_len;        /* readable bytes behind the code that belong to no other */
	uint64_t slots, slots_end; /* the linker's table of other files' functions; may be empty */
	/* How many bytes the stack has grown since the begin, by the unwind table: at least, and at
	 * most, which differ where the table counts from a frame pointer. False: unknown. NULL: of
	 * no address. */
	bool (*depth)(void *arg, uint64_t address, int64_t *least, int64_t *most);
	/* For patch_exits alone. NULL: nothing is known. */
	enum patch_leaving (*leaves)(void *arg, uint64_t target);
	void *arg;
};

struct patch_plan {
	uint64_t address;  /* of what is replaced */
	uint8_t len;       /* what is replaced: a jump, or a call */
	uint8_t moved_len; /* of the instructions that are moved; 0: a call is redirected */
	uint8_t kind;      /* enum patch_kind */
	uint8_t depth;     /* how many bytes the stack has grown there since the function's begin;
			      needed only where begins are seen */
	uint8_t old[PATCH_MOVED_BYTES];
	struct patch_span span; /* that nothing else may enter */
};

enum patch_refusal patch_plan(const struct patch_function *f, struct patch_plan *out);

/* Why, for people: "too short", … */
const char *patch_refusal_text(enum patch_refusal refusal);

#endif
