/*
 * The same for arm64, where all instructions have 4 bytes: one is replaced by a branch, so nobody
 * can stand within, and other code can lead to its begin alone. What depends on its place has few
 * forms. A branch reaches 128 MiB: the trampoline must be that near.
 *
 * bti and paciasp at the begin stay: indirect calls must find them. The plan is that of plan.h;
 * with a first instruction bl, it is redirected.
 *
 *	stp x16, x17, [sp, #-32]!; str x15, [sp, #16]; mrs x16, tpidr_el0; ldr x17, =block
 *	ldr x16, [x16, x17]; cbz x16, shared; ldr x17, =number*8; add x16, x16, x17
 *	count: ldxr x17, [x16]; add x17, x17, #1; stxr w15, x17, [x16]; cbnz w15, count
 *	ldr x15, [sp, #16]; ldp x16, x17, [sp], #32
 *	(the moved instruction; b back)
 *	shared: ldr x16, =shared+number*8; b count
 *
 * No flag changes. patch_original knows nothing of it.
 */
#ifndef PATCH_ARM64_H
#define PATCH_ARM64_H

#include "patch/decode.h"
#include "patch/move.h"

/* As patch_plan. */
enum patch_refusal patch_arm64_plan(const struct patch_function *f, struct patch_plan *out);

/* As patch_move. -ERANGE also: something is not within reach of a branch. */
int patch_arm64_move(const struct patch_plan *plan, const struct patch_counter *counter,
		     uint64_t address, struct patch_trampoline *out);

struct patch_arm64_instruction {
	enum patch_flow flow;
	bool has_target; /* of data or code, at its address plus … */
	int64_t relative;
	bool is_fixed; /* as patch_instruction */
	bool is_mark;  /* an indirect call may lead to it, if branches are checked */
};

/* False: it is not understood. */
bool patch_arm64_decode(uint32_t code, struct patch_arm64_instruction *out);

#endif
