/*
 * x86-64 instructions, as far as who moves or replaces them must see: where each one ends, what in
 * it depends on where it stands, and where execution goes on.
 *
 * A disassembler would do, but runs in no one else's program: this one is tables, without heap,
 * locks and state. A table has a letter for each opcode that is understood; whatever is not, is
 * refused: opcodes of the system, of sizes that differ between makers of CPUs, and redundant
 * prefixes that no compiler writes. So an unknown extension costs a function, and never a guess.
 */
#ifndef PATCH_DECODE_H
#define PATCH_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATCH_MAX_INSTRUCTION = 15 };

enum patch_flow {
	PATCH_GOES_ON,
	PATCH_BRANCHES,       /* or goes on */
	PATCH_JUMPS,          /* to a fixed target */
	PATCH_JUMPS_INDIRECT, /* to what a register or memory has */
	PATCH_CALLS,
	PATCH_CALLS_INDIRECT,
	PATCH_RETURNS,
	PATCH_STOPS, /* it cannot be executed */
};

struct patch_instruction {
	uint8_t len;
	uint8_t opcode_at;    /* after its prefixes */
	uint8_t relative_at;  /* a number relative to the end of the instruction; 0: none */
	uint8_t relative_len; /* 1, 4 */
	int32_t relative;     /* the number */
	enum patch_flow flow;
	bool is_endbr;   /* endbr64 */
	bool is_nop;     /* without effect, or int3: what stands between functions */
	bool is_notrack; /* an indirect jump that need not lead to an endbr64 */
	bool is_fixed;   /* moved, it would do something else, in a way that is not repaired */
	/* As they are encoded. */
	uint8_t map;        /* of the opcode: 0: that of one byte; 1: 0f; 2: 0f 38; 3: 0f 3a */
	uint8_t opcode;     /* behind prefixes and escapes */
	uint8_t modrm, rex; /* 0: it has none */
	bool is_vector;     /* VEX or EVEX */
	bool is_evex;
	bool has_override; /* the prefix lock, or a segment's but fs and gs */
};

/* Decodes the instruction at bytes[0]. Returns its length; 0: it is not understood, or exceeds len.
 */
size_t patch_decode(const uint8_t *bytes, size_t len, struct patch_instruction *out);

/* Whether what is relative is the target of a branch or call, not the address of data. */
static inline bool patch_has_target(const struct patch_instruction *i)
{
	return i->relative_at &&
	       (i->flow == PATCH_BRANCHES || i->flow == PATCH_JUMPS || i->flow == PATCH_CALLS);
}

/* Whether the next instruction is not reached from this one. */
static inline bool patch_ends(const struct patch_instruction *i)
{
	return i->flow == PATCH_JUMPS || i->flow == PATCH_JUMPS_INDIRECT ||
	       i->flow == PATCH_RETURNS || i->flow == PATCH_STOPS;
}

#endif
