/*
 * Whether what lib/patch makes of code is what capstone sees in it. For the tests of text and for
 * fuzzing: no assertions, but a text that says what differs.
 */
#ifndef TEST_SAME_CODE_H
#define TEST_SAME_CODE_H

#include "patch/decode.h"
#include "patch/move.h"

#include <capstone/capstone.h>

struct same_code {
	csh capstone;
	cs_insn *theirs, *moved;
	size_t nr, nr_unknown; /* instructions; of those, such as capstone has no name for */
};

static inline bool same_code_open(struct same_code *s)
{
	*s = (struct same_code){0};
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &s->capstone) != CS_ERR_OK)
		return false;
	cs_option(s->capstone, CS_OPT_DETAIL, CS_OPT_ON);
	s->theirs = cs_malloc(s->capstone);
	s->moved = cs_malloc(s->capstone);
	return true;
}

static inline void same_code_close(struct same_code *s)
{
	cs_free(s->theirs, 1);
	cs_free(s->moved, 1);
	cs_close(&s->capstone);
}

static inline bool same_code_read(const struct same_code *s, const uint8_t *bytes, size_t len,
				  uint64_t address, cs_insn *out)
{
	return cs_disasm_iter(s->capstone, &bytes, &len, &address, out);
}

/* --- instruction by instruction */

static inline bool same_code_rip(const cs_insn *i, uint64_t *address)
{
	const cs_x86 *x = &i->detail->x86;

	for (int k = 0; k < x->op_count; k++)
		if (x->operands[k].type == X86_OP_MEM && (x->operands[k].mem.base == X86_REG_RIP ||
							  x->operands[k].mem.base == X86_REG_EIP)) {
			*address = i->address + i->size + (uint64_t)x->operands[k].mem.disp;
			return true;
		}
	return false;
}

/* capstone has no group for these. */
static inline bool same_code_is_loop(const cs_insn *i)
{
	return i->id == X86_INS_LOOP || i->id == X86_INS_LOOPE || i->id == X86_INS_LOOPNE;
}

static inline bool same_code_target(const struct same_code *s, const cs_insn *i, uint64_t *address)
{
	const cs_x86 *x = &i->detail->x86;

	if (!x->op_count || x->operands[0].type != X86_OP_IMM)
		return false;
	*address = (uint64_t)x->operands[0].imm;
	return cs_insn_group(s->capstone, i, CS_GRP_JUMP) ||
	       cs_insn_group(s->capstone, i, CS_GRP_CALL) || same_code_is_loop(i);
}

static inline bool same_code_flow(const struct same_code *s, const struct patch_instruction *ours)
{
	const cs_insn *i = s->theirs;
	const bool jumps = ours->flow == PATCH_BRANCHES || ours->flow == PATCH_JUMPS ||
			   ours->flow == PATCH_JUMPS_INDIRECT;
	const bool calls = ours->flow == PATCH_CALLS || ours->flow == PATCH_CALLS_INDIRECT;
	const bool they_jump = cs_insn_group(s->capstone, i, CS_GRP_JUMP) || same_code_is_loop(i);

	return jumps == they_jump && calls == cs_insn_group(s->capstone, i, CS_GRP_CALL) &&
	       (ours->flow == PATCH_RETURNS) == cs_insn_group(s->capstone, i, CS_GRP_RET);
}

/* capstone 4 has one byte too many of an EVEX instruction of registers with rounding or {sae}. */
static inline bool same_code_too_long(const struct same_code *s,
				      const struct patch_instruction *ours, const uint8_t *bytes)
{
	enum { EVEX = 0x62, WITH_ROUNDING = 0x10 };
	const size_t at = ours->opcode_at;

	return s->theirs->size == ours->len + 1 && at >= 4 && bytes[at - 4] == EVEX &&
	       bytes[at - 1] & WITH_ROUNDING && bytes[at + 1] >> 6 == 3;
}

/* NULL: the same, or unknown to capstone; else what differs. */
static inline const char *same_code_compare(struct same_code *s,
					    const struct patch_instruction *ours,
					    const uint8_t *bytes, size_t len, uint64_t address)
{
	uint64_t at = 0, of_ours = address + ours->len + (uint64_t)(int64_t)ours->relative;
	bool has;

	s->nr++;
	/* ud1 has an operand, which capstone 4 does not know. */
	if (!same_code_read(s, bytes, len, address, s->theirs) || s->theirs->id == X86_INS_UD2B) {
		s->nr_unknown++;
		return NULL;
	}
	if (same_code_too_long(s, ours, bytes))
		return NULL;
	if (s->theirs->size != ours->len)
		return "another length";
	if (!same_code_flow(s, ours))
		return "another flow";
	has = same_code_rip(s->theirs, &at) || same_code_target(s, s->theirs, &at);
	return has != (ours->relative_at != 0) || (has && at != of_ours) ? "another target" : NULL;
}

/* --- what is moved */

static inline bool same_code_operand(const cs_x86_op *a, const cs_x86_op *b)
{
	if (a->type == X86_OP_IMM && b->type == X86_OP_IMM)
		return a->imm ==
		       b->imm; /* of branches: the address, with a size that is the prefix's */
	if (a->type != b->type || a->size != b->size)
		return false;
	if (a->type == X86_OP_REG)
		return a->reg == b->reg;
	return a->mem.base == b->mem.base && a->mem.index == b->mem.index &&
	       a->mem.scale == b->mem.scale && a->mem.segment == b->mem.segment &&
	       (a->mem.base == X86_REG_RIP || a->mem.disp == b->mem.disp);
}

static inline bool same_code_meaning(const cs_insn *a, const cs_insn *b)
{
	const cs_x86 *x = &a->detail->x86, *y = &b->detail->x86;
	uint64_t to_a = 0, to_b = 0;

	if (a->id != b->id || x->op_count != y->op_count ||
	    same_code_rip(a, &to_a) != same_code_rip(b, &to_b) || to_a != to_b)
		return false;
	for (int i = 0; i < x->op_count; i++)
		if (!same_code_operand(&x->operands[i], &y->operands[i]))
			return false;
	return true;
}

static inline bool same_code_jumps(const struct same_code *s, const struct patch_trampoline *t,
				   size_t at, uint64_t to)
{
	uint64_t target = 0;

	return same_code_read(s, t->code + at, t->len - at, t->address + at, s->moved) &&
	       s->moved->id == X86_INS_JMP && same_code_target(s, s->moved, &target) &&
	       target == to;
}

static inline const char *same_code_moved(const struct same_code *s, const struct patch_plan *p,
					  const struct patch_trampoline *t)
{
	size_t at = 0;
	uint8_t pushed = 1;

	for (size_t k = 0; k < t->nr_moved; k++) {
		const uint8_t to = t->moved[k].to;
		/* before the last one of an end is what sees it */
		const uint8_t next =
		    t->kind == PATCH_ENDS && k + 2 == t->nr_moved ? t->hook_at : t->moved[k + 1].to;

		if (t->moved[k].from != at)
			return "moved, the map is wrong";
		if (!same_code_read(s, p->old + at, p->moved_len - at, p->address + at, s->theirs))
			return NULL; /* unknown to capstone, and counted */
		if (!same_code_read(s, t->code + to, t->len - to, t->address + to, s->moved) ||
		    !same_code_meaning(s->theirs, s->moved) || s->moved->size != next - to)
			return "moved, it differs";
		if (patch_original(p, t, t->address + to, &pushed) != p->address + at || pushed)
			return "moved, it has another original";
		at += s->theirs->size;
	}
	if (at != p->moved_len)
		return "not all is moved";
	if (s->theirs->id == X86_INS_JMP || cs_insn_group(s->capstone, s->theirs, CS_GRP_RET))
		return NULL;
	return same_code_jumps(s, t, t->moved[t->nr_moved].to, p->address + at)
		   ? NULL
		   : "it does not go on behind what was moved";
}

static inline const char *same_code_redirected(const struct same_code *s,
					       const struct patch_plan *p,
					       const struct patch_trampoline *t)
{
	const uint8_t to = t->moved[0].to;
	uint64_t target = 0, slot = 0;

	if (!same_code_read(s, p->old, p->len, p->address, s->theirs) ||
	    s->theirs->id != X86_INS_CALL)
		return "it is no call";
	if (same_code_target(s, s->theirs, &target))
		return same_code_jumps(s, t, to, target) ? NULL : "it calls another";
	return same_code_rip(s->theirs, &target) &&
		       same_code_read(s, t->code + to, t->len - to, t->address + to, s->moved) &&
		       s->moved->id == X86_INS_JMP && same_code_rip(s->moved, &slot) &&
		       slot == target
		   ? NULL
		   : "it calls by another slot";
}

static inline const char *same_code_replaced(const struct same_code *s, const struct patch_plan *p,
					     const struct patch_trampoline *t)
{
	uint64_t target = 0;

	return same_code_read(s, t->replacement, p->len, p->address, s->theirs) &&
		       s->theirs->size == p->len &&
		       s->theirs->id == (p->moved_len ? X86_INS_JMP : X86_INS_CALL) &&
		       same_code_target(s, s->theirs, &target) && target == t->address
		   ? NULL
		   : "the replacement leads elsewhere";
}

/* The same of a plan and its trampoline. */
static inline const char *same_code_plan(const struct same_code *s, const struct patch_plan *p,
					 const struct patch_trampoline *t)
{
	const char *what = p->moved_len ? same_code_moved(s, p, t) : same_code_redirected(s, p, t);

	return what ?: same_code_replaced(s, p, t);
}

#endif
