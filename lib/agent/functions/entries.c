/*
 * Calls that the compiler puts where a function begins and no register may change: mcount (-pg),
 * __fentry__ (-pg -mfentry), and what patch.c writes over NOPs. They are counted. A call is known
 * by the place behind it, of which each function has one; the recorder finds the function there.
 *
 * Where they end is not seen: for that return addresses would have to be replaced, by which
 * programs unwind.
 *
 * What a counted call passes is compiled without vector registers, and saves the others that it
 * uses. The rest, which comes once for each function and thread, calls the C library: there all
 * registers are saved.
 */
#include "agent/functions/agent.h"

#if defined(__x86_64__)

#include <cpuid.h>

enum { LEGACY_BYTES = 512, HEAD_BYTES = 64 };

/* Of the registers that functions have arguments in: x87, SSE, AVX, AVX-512. */
__attribute__((used)) static uint32_t state_mask = 0xe7;
__attribute__((used)) static uint32_t state_bytes; /* 0: fxsave */

/* Bytes of the state, by cpuid: a part's place differs by CPU. */
AGENT_SAVES static AGENT_RARE void measure_state(void)
{
	uint32_t a = 0, b = 0, c = 0, d = 0, bytes = LEGACY_BYTES + HEAD_BYTES;

	__cpuid(1, a, b, c, d);
	if (!(c & bit_OSXSAVE))
		return;
	for (uint32_t i = 2; i < 8; i++) {
		if (!(state_mask & 1u << i))
			continue;
		__cpuid_count(0xd, i, a, b, c, d);
		if (a + b > bytes)
			bytes = a + b;
	}
	__atomic_store_n(&state_bytes, (bytes + 63) & ~63u, __ATOMIC_RELAXED);
}

__asm__(".pushsection .text\n"
	".hidden agent_meet_saved\n"
	".globl agent_meet_saved\n"
	".type agent_meet_saved, @function\n"
	"agent_meet_saved:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"	push %rdx\n"
	"	push %rcx\n"
	"	push %rsi\n"
	"	push %rdi\n"
	"	push %r8\n"
	"	push %r9\n"
	"	push %r10\n"
	"	push %r11\n"
	"	mov state_bytes(%rip), %ecx\n"
	"	and $-64, %rsp\n"
	"	test %ecx, %ecx\n"
	"	jz 1f\n"
	"	sub %rcx, %rsp\n"
	"	xor %eax, %eax\n"
	"	mov %rax, 512(%rsp)\n" /* xsave writes the first word of the head alone */
	"	mov %rax, 520(%rsp)\n"
	"	mov %rax, 528(%rsp)\n"
	"	mov %rax, 536(%rsp)\n"
	"	mov %rax, 544(%rsp)\n"
	"	mov %rax, 552(%rsp)\n"
	"	mov %rax, 560(%rsp)\n"
	"	mov %rax, 568(%rsp)\n"
	"	mov state_mask(%rip), %eax\n"
	"	xor %edx, %edx\n"
	"	xsave64 (%rsp)\n"
	"	call agent_meet\n"
	"	mov %rax, %rcx\n"
	"	mov state_mask(%rip), %eax\n"
	"	xor %edx, %edx\n"
	"	xrstor64 (%rsp)\n"
	"	jmp 2f\n"
	"1:	sub $512, %rsp\n"
	"	fxsave64 (%rsp)\n"
	"	call agent_meet\n"
	"	mov %rax, %rcx\n"
	"	fxrstor64 (%rsp)\n"
	"2:	mov %rcx, %rax\n"
	"	lea -64(%rbp), %rsp\n"
	"	pop %r11\n"
	"	pop %r10\n"
	"	pop %r9\n"
	"	pop %r8\n"
	"	pop %rdi\n"
	"	pop %rsi\n"
	"	pop %rcx\n"
	"	pop %rdx\n"
	"	pop %rbp\n"
	".cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size agent_meet_saved, . - agent_meet_saved\n"
	".popsection\n");

AGENT_SAVES static AGENT_RARE void meet(uintptr_t where)
{
	uint32_t number;

	if (!__atomic_load_n(&state_bytes, __ATOMIC_RELAXED))
		measure_state();
	number = agent_meet_saved(where);
	if (number < FUNCTIONS_MEMORY_MAX)
		agent_count(&agent_local, &agent_local.rows[number].calls);
}

AGENT_SAVES AGENT_OFTEN void pass(uintptr_t where)
{
	const struct agent_local *t = &agent_local;
	uint32_t number;

	if (agent.is_off)
		return;
	number = agent_is_ready(t) ? agent_find(where) : FUNCTIONS_MEMORY_MAX;
	if (AGENT_LIKELY(number < FUNCTIONS_MEMORY_MAX))
		agent_count(t, &t->rows[number].calls);
	else if (number == FUNCTIONS_MEMORY_MAX)
		meet(where);
	/* clang 14 would jump to it, with the caller's registers for its argument */
	__asm__ volatile("");
}

void agent_entry(void)
{
	pass((uintptr_t)__builtin_return_address(0));
}

/* Names of one function: as functions of their own the compiler would have one call another. */
#define ENTRY AGENT_EXPORTED __attribute__((alias("agent_entry")))
AGENT_SAVES ENTRY void mcount(void);
AGENT_SAVES ENTRY void _mcount(void);
AGENT_SAVES ENTRY void __fentry__(void);

/* A thread's first call of a place; each of one that has no rows of its own. What connecting itself
 * calls may be such places, too, and is not the program's. */
AGENT_SAVES AGENT_RARE bool agent_meet_placed(struct agent_local *t)
{
	bool has_rows;

	t->is_meeting = 1;
	if (!__atomic_load_n(&state_bytes, __ATOMIC_RELAXED))
		measure_state();
	has_rows =
	    agent_is_ready(t) || agent_meet_saved((uintptr_t)agent_attach) < FUNCTIONS_MEMORY_MAX;
	t->is_meeting = 0;
	return has_rows;
}

AGENT_SAVES __attribute__((used)) static void count_placed(uint32_t word)
{
	struct agent_local *t = &agent_local;
	uint64_t *words;

	if (agent.is_off || t->is_meeting || !agent_meet_placed(t))
		return;
	words = (void *)t->rows;
	if (!t->is_joined)
		agent_words = words;
	agent_count(t, &words[word]);
}

__asm__(".pushsection .text\n"
	".hidden agent_placed\n"
	".globl agent_placed\n"
	".type agent_placed, @function\n"
	"agent_placed:\n"
	"	push %rdi\n"
	"	mov %ecx, %edi\n"
	"	call count_placed\n"
	"	pop %rdi\n"
	"	ret\n"
	".size agent_placed, . - agent_placed\n"
	".popsection\n");

uint32_t agent_meet(uintptr_t where)
{
	uint32_t number;

	if (!agent_is_ready(&agent_local) && !agent_attach(&agent_local))
		return FUNCTIONS_MEMORY_MAX;
	number = agent_find(where);
	return number == FUNCTIONS_MEMORY_MAX ? agent_add(where) : number;
}

#endif
