/*
 * The trampoline of a function: code that counts the call, then the instructions that were moved,
 * then a jump back; or, where a call is redirected, a jump to what it called.
 *
 * The counter is the thread's: a word of a block to which a thread-local variable points, by the
 * number of the function. One instruction adds to it, so a signal handler that calls the same
 * function loses nothing. A thread without a block counts in one that all share, by a locked
 * instruction. All registers and flags stay: hand-written code passes more in them than the ABI
 * says. The stack below its pointer may be used: at a function's begin no red zone is in use.
 *
 *	push %rax; lahf; seto %al; push %rcx; mov %fs:block, %rcx; jrcxz shared
 *	incq number*8(%rcx)
 *	counted: pop %rcx; add $127, %al; sahf; pop %rax
 *	(moved instructions; jmp back)
 *	shared: movabs $shared+number*8, %rcx; lock incq (%rcx); jmp counted
 *
 * or, so that such a thread can get a block, the last line is
 *	shared: push %rax; mov $number, %ecx; movabs $meet, %rax; call *%rax; pop %rax; jmp counted
 *
 * Where begins and ends of calls are seen (enum patch_kind), what counts is in a function of the
 * caller's, and this code passes it the number, as the word above its return address, and in %rcx
 * the stack pointer of the function's begin, less two words:
 *
 *	push %rax; lahf; seto %al; push %rcx; push %rax; push $number; lea …(%rsp), %rcx
 *	movabs $meet, %rax; call *%rax
 *	pop %rcx; pop %rax; pop %rcx; add $127, %al; sahf; pop %rax
 *
 * At an end that is behind what was moved, but for the last instruction, which leaves: all that is
 * below the stack pointer is used no longer there.
 *
 * lahf was missing in the first processors of 64 bits (until 2006): the caller asks CPUID.
 */
#ifndef PATCH_MOVE_H
#define PATCH_MOVE_H

#include "patch/plan.h"

enum { PATCH_TRAMPOLINE_BYTES = 112, PATCH_MAX_MOVED = 5, PATCH_STACK_LESS = 16 };

struct patch_counter {
	uint32_t number; /* of the function */
	int32_t block;   /* where the thread-local pointer is, from %fs:0 */
	uint64_t shared; /* address of the block for threads that have none */
	uint64_t meet;   /* of what such a thread calls instead, which counts; 0: nothing. It keeps
			    all registers but %rax, %rcx and flags. Where begins and ends are seen,
			    what each call calls; the other two are not used then */
};

struct patch_trampoline {
	uint64_t address;
	uint8_t code[PATCH_TRAMPOLINE_BYTES];
	uint8_t len;
	uint8_t replacement[PATCH_SITE_BYTES]; /* what is written at the plan's address */
	uint8_t shared_at;                     /* the last part */
	uint8_t hook_at;                       /* where begins or ends are seen */
	uint8_t kind;
	bool is_met;
	uint8_t nr_moved;
	struct {
		uint8_t from, to;     /* of plan.address, of address */
	} moved[PATCH_MAX_MOVED + 1]; /* the last: behind them */
};

/* Makes it, for that address. -ERANGE: something is not within reach of 2 GiB. */
int patch_move(const struct patch_plan *plan, const struct patch_counter *counter, uint64_t address,
	       struct patch_trampoline *out);

/* Whether the bytes at the plan's address lead to that code, and it is of such a trampoline: as
 * patch_move makes it of the plan, with whichever counter. */
bool patch_is_moved(const struct patch_plan *plan, const uint8_t bytes[PATCH_SITE_BYTES],
		    const uint8_t code[PATCH_TRAMPOLINE_BYTES], uint64_t address);
/* Where the bytes lead to, if they are such a jump or call; 0: they are not. */
uint64_t patch_leads_to(const struct patch_plan *plan, const uint8_t bytes[PATCH_SITE_BYTES]);

/*
 * The address that stands for one in the trampoline: whose row of the unwind table applies, once
 * *pushed is added to the stack pointer. Of a redirected call it is that behind the call, and the
 * return address is among what was pushed. 0: the address is not in the trampoline.
 */
uint64_t patch_original(const struct patch_plan *plan, const struct patch_trampoline *t,
			uint64_t address, uint8_t *pushed);

/* Where a thread goes on that stands behind the first byte of what is replaced, which it may not
 * execute; else the address itself. */
uint64_t patch_moved_to(const struct patch_plan *plan, const struct patch_trampoline *t,
			uint64_t address);

#endif
