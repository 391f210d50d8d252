/*
 * What a breakpoint costs on an x86-64 instruction, and what it takes to walk through a function
 * and to see where it jumps. patch/decode.h decodes; this adds what Linux does with a breakpoint.
 */
#ifndef FUNCTIONS_X86_H
#define FUNCTIONS_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum functions_x86_kind {
	FUNCTIONS_X86_OTHER,
	FUNCTIONS_X86_NOP,  /* of one opcode byte: 90, also with prefixes */
	FUNCTIONS_X86_NOP5, /* 0f 1f 44 00 00 */
	FUNCTIONS_X86_ENDBR,
	FUNCTIONS_X86_PUSH, /* a register */
	FUNCTIONS_X86_JUMP, /* to .target */
	FUNCTIONS_X86_BRANCH,
	FUNCTIONS_X86_LOOP, /* loop, jrcxz: a branch that the kernel does not emulate */
	FUNCTIONS_X86_CALL, /* of .target */
	FUNCTIONS_X86_CALL_ANY,
	FUNCTIONS_X86_JUMP_ANY, /* to what a register or memory holds */
};

struct functions_x86 {
	unsigned len;
	enum functions_x86_kind kind;
	int64_t target; /* behind the instruction: JUMP, BRANCH, LOOP, CALL */
	bool is_frame;  /* moves the stack pointer: sub $n,%rsp */
	/* Surely changes neither the stack pointer nor a register of arguments, and goes on. */
	bool is_harmless;
	bool is_unprobed; /* the kernel refuses a breakpoint on it */
};

/* False: not decoded, or it does not end within len bytes. */
bool functions_x86_decode(const uint8_t *code, size_t len, struct functions_x86 *out);

#endif
