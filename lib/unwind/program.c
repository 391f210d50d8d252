/*
 * An operation is a row of a table. Registers that are not kept have their operands read and no
 * place.
 */
#include "unwind/program.h"

#include <dwarf.h>
#include <string.h>

enum {
	MAX_PROGRAM_BYTES = 1 << 20,
	MAX_REMEMBERED = 16,
	PACKED = 0xc0, /* the operation in the upper bits, its operand below */
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
};

struct run {
	const struct unwind_machine *machine;
	const struct unwind_cie *cie;
	const struct unwind_base *base;
	struct cursor c;
	uint64_t at, address; /* in the function: now, and where it ends */
	struct unwind_rules rules, initial;
	struct unwind_rules remembered[MAX_REMEMBERED];
	unsigned nr_remembered;
	uint8_t operand; /* of packed operations */
	bool is_wrong, is_done;
};

static void set(struct run *r, uint64_t reg, struct unwind_rule rule)
{
	if (reg < r->machine->nr_regs)
		r->rules.reg[reg] = rule;
}

static void set_saved(struct run *r, uint64_t reg, uint8_t kind, int64_t factored)
{
	int64_t off = (int64_t)((uint64_t)factored * (uint64_t)r->cie->data_align);

	set(r, reg, (struct unwind_rule){.kind = kind, .off = off});
}

static void restore(struct run *r, uint64_t reg)
{
	if (reg < r->machine->nr_regs)
		r->rules.reg[reg] = r->initial.reg[reg];
}

static void go_to(struct run *r, uint64_t at)
{
	if (at > r->address)
		r->is_done = true;
	else
		r->at = at;
}

static void advance(struct run *r, uint64_t delta)
{
	uint64_t by;

	if (__builtin_mul_overflow(delta, r->cie->code_align, &by) || by > r->address - r->at)
		r->is_done = true;
	else
		r->at += by;
}

static void op_advance(struct run *r)
{
	advance(r, r->operand);
}

static void op_offset(struct run *r)
{
	set_saved(r, r->operand, UNWIND_RULE_SAVED, (int64_t)unwind_uleb(&r->c));
}

static void op_restore(struct run *r)
{
	restore(r, r->operand);
}

static void op_nothing(struct run *r)
{
	(void)r;
}

static void op_set_loc(struct run *r)
{
	go_to(r, unwind_pointer(&r->c, r->cie->encoding, r->base));
}

static void op_advance1(struct run *r)
{
	advance(r, cursor_u8(&r->c));
}

static void op_advance2(struct run *r)
{
	advance(r, cursor_le16(&r->c));
}

static void op_advance4(struct run *r)
{
	advance(r, cursor_le32(&r->c));
}

static void op_offset_extended(struct run *r)
{
	uint64_t reg = unwind_uleb(&r->c);

	set_saved(r, reg, UNWIND_RULE_SAVED, (int64_t)unwind_uleb(&r->c));
}

static void op_offset_extended_sf(struct run *r)
{
	uint64_t reg = unwind_uleb(&r->c);

	set_saved(r, reg, UNWIND_RULE_SAVED, unwind_sleb(&r->c));
}

static void op_offset_negative(struct run *r)
{
	uint64_t reg = unwind_uleb(&r->c);

	set_saved(r, reg, UNWIND_RULE_SAVED, (int64_t)-unwind_uleb(&r->c));
}

static void op_val_offset(struct run *r)
{
	uint64_t reg = unwind_uleb(&r->c);

	set_saved(r, reg, UNWIND_RULE_CFA, (int64_t)unwind_uleb(&r->c));
}

static void op_val_offset_sf(struct run *r)
{
	uint64_t reg = unwind_uleb(&r->c);

	set_saved(r, reg, UNWIND_RULE_CFA, unwind_sleb(&r->c));
}

static void op_restore_extended(struct run *r)
{
	restore(r, unwind_uleb(&r->c));
}

static void op_undefined(struct run *r)
{
	set(r, unwind_uleb(&r->c), (struct unwind_rule){.kind = UNWIND_RULE_LOST});
}

static void op_same_value(struct run *r)
{
	set(r, unwind_uleb(&r->c), (struct unwind_rule){.kind = UNWIND_RULE_SAME});
}

static void op_register(struct run *r)
{
	uint64_t reg = unwind_uleb(&r->c);

	set(r, reg,
	    (struct unwind_rule){.kind = UNWIND_RULE_REG, .off = (int64_t)unwind_uleb(&r->c)});
}

static void op_remember(struct run *r)
{
	if (r->nr_remembered == MAX_REMEMBERED)
		r->is_wrong = true;
	else
		r->remembered[r->nr_remembered++] = r->rules;
}

static void op_restore_state(struct run *r)
{
	if (r->nr_remembered)
		r->rules = r->remembered[--r->nr_remembered];
	else
		r->is_wrong = true;
}

static void set_cfa(struct run *r, uint64_t reg, int64_t off)
{
	r->rules.cfa =
	    (struct unwind_rule){.kind = UNWIND_RULE_REG, .off = (int64_t)reg, .plus = off};
}

static int64_t factored(const struct run *r, int64_t v)
{
	return (int64_t)((uint64_t)v * (uint64_t)r->cie->data_align);
}

static void op_def_cfa(struct run *r)
{
	uint64_t reg = unwind_uleb(&r->c);

	set_cfa(r, reg, (int64_t)unwind_uleb(&r->c));
}

static void op_def_cfa_sf(struct run *r)
{
	uint64_t reg = unwind_uleb(&r->c);

	set_cfa(r, reg, factored(r, unwind_sleb(&r->c)));
}

/* The next three change a rule that must be there. */
static void need_cfa(struct run *r)
{
	r->is_wrong |= r->rules.cfa.kind != UNWIND_RULE_REG;
}

static void op_def_cfa_register(struct run *r)
{
	need_cfa(r);
	r->rules.cfa.off = (int64_t)unwind_uleb(&r->c);
}

static void op_def_cfa_offset(struct run *r)
{
	need_cfa(r);
	r->rules.cfa.plus = (int64_t)unwind_uleb(&r->c);
}

static void op_def_cfa_offset_sf(struct run *r)
{
	need_cfa(r);
	r->rules.cfa.plus = factored(r, unwind_sleb(&r->c));
}

static struct unwind_rule take_expr(struct run *r, uint8_t kind)
{
	struct unwind_rule rule = {.kind = kind};

	rule.expr.bytes = unwind_block(&r->c, &rule.expr.len);
	return rule;
}

static void op_def_cfa_expression(struct run *r)
{
	r->rules.cfa = take_expr(r, UNWIND_RULE_VAL_EXPR);
}

static void op_expression(struct run *r)
{
	uint64_t reg = unwind_uleb(&r->c);

	set(r, reg, take_expr(r, UNWIND_RULE_EXPR));
}

static void op_val_expression(struct run *r)
{
	uint64_t reg = unwind_uleb(&r->c);

	set(r, reg, take_expr(r, UNWIND_RULE_VAL_EXPR));
}

static void op_args_size(struct run *r)
{
	unwind_uleb(&r->c);
}

static void (*const packed[])(struct run *r) = {
    [DW_CFA_advance_loc >> 6] = op_advance,
    [DW_CFA_offset >> 6] = op_offset,
    [DW_CFA_restore >> 6] = op_restore,
};

/* arm64's two say whether the return address is signed: the signature is cleared anyway. */
static void (*const table[])(struct run *r) = {
    [DW_CFA_nop] = op_nothing,
    [DW_CFA_set_loc] = op_set_loc,
    [DW_CFA_advance_loc1] = op_advance1,
    [DW_CFA_advance_loc2] = op_advance2,
    [DW_CFA_advance_loc4] = op_advance4,
    [DW_CFA_offset_extended] = op_offset_extended,
    [DW_CFA_restore_extended] = op_restore_extended,
    [DW_CFA_undefined] = op_undefined,
    [DW_CFA_same_value] = op_same_value,
    [DW_CFA_register] = op_register,
    [DW_CFA_remember_state] = op_remember,
    [DW_CFA_restore_state] = op_restore_state,
    [DW_CFA_def_cfa] = op_def_cfa,
    [DW_CFA_def_cfa_register] = op_def_cfa_register,
    [DW_CFA_def_cfa_offset] = op_def_cfa_offset,
    [DW_CFA_def_cfa_expression] = op_def_cfa_expression,
    [DW_CFA_expression] = op_expression,
    [DW_CFA_offset_extended_sf] = op_offset_extended_sf,
    [DW_CFA_def_cfa_sf] = op_def_cfa_sf,
    [DW_CFA_def_cfa_offset_sf] = op_def_cfa_offset_sf,
    [DW_CFA_val_offset] = op_val_offset,
    [DW_CFA_val_offset_sf] = op_val_offset_sf,
    [DW_CFA_val_expression] = op_val_expression,
    [CFA_AARCH64_NEGATE_RA_STATE_WITH_PC] = op_nothing,
    [CFA_AARCH64_NEGATE_RA_STATE] = op_nothing,
    [DW_CFA_GNU_args_size] = op_args_size,
    [DW_CFA_GNU_negative_offset_extended] = op_offset_negative,
};

static void run_one(struct run *r)
{
	uint8_t op = cursor_u8(&r->c);

	if (op & PACKED) {
		r->operand = op & (uint8_t)~PACKED;
		packed[op >> 6](r);
	} else if (op < sizeof(table) / sizeof(table[0]) && table[op]) {
		table[op](r);
	} else {
		r->is_wrong = true;
	}
	r->is_wrong |= !cursor_ok(&r->c);
}

static bool run(struct run *r, const uint8_t *program, size_t len)
{
	cursor_init(&r->c, program, len);
	r->is_wrong |= len > MAX_PROGRAM_BYTES;
	while (r->c.left && !r->is_wrong && !r->is_done)
		run_one(r);
	return !r->is_wrong;
}

bool unwind_program_run(const struct unwind_machine *m, const struct unwind_cie *cie,
			const struct unwind_base *base, const uint8_t *program, size_t len,
			uint64_t start, uint64_t address, struct unwind_rules *out)
{
	struct run r;

	r.machine = m;
	r.cie = cie;
	r.base = base;
	r.at = start;
	r.address = address;
	r.nr_remembered = 0;
	r.is_wrong = r.is_done = false;
	memset(&r.rules, 0, sizeof(r.rules));
	r.initial = r.rules;
	if (address < start || !run(&r, cie->program, cie->program_len))
		return false;
	r.initial = r.rules;
	r.is_done = false;
	if (!run(&r, program, len))
		return false;
	*out = r.rules;
	return true;
}
