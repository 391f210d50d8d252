/*
 * The operations in the order of the specification. For registers that are not tracked, operands
 * are read and have no effect.
 */
#include "cfi/program.h"

#include <dwarf.h>
#include <string.h>

enum {
	MAX_PROGRAM_BYTES = 1 << 20,
	MAX_REMEMBERED = 16,
	PACKED = 0xc0, /* the upper bits are the operation, the lower its operand */
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
};

struct run {
	const struct cfi_machine *machine;
	const struct cfi_cie *cie;
	const struct cfi_base *base;
	struct cursor c;
	uint64_t at, address; /* addresses: current, and where to stop */
	struct cfi_rules rules, initial;
	struct cfi_rules remembered[MAX_REMEMBERED];
	unsigned nr_remembered;
	bool is_wrong, is_done;
};

static void set(struct run *r, uint64_t reg, struct cfi_rule rule)
{
	if (reg < r->machine->nr_regs)
		r->rules.reg[reg] = rule;
}

static int64_t factored(const struct run *r, int64_t v)
{
	return (int64_t)((uint64_t)v * (uint64_t)r->cie->data_align);
}

static void set_off(struct run *r, uint64_t reg, uint8_t kind, int64_t off)
{
	set(r, reg, (struct cfi_rule){.kind = kind, .off = factored(r, off)});
}

static struct cfi_rule read_expr(struct run *r, uint8_t kind)
{
	struct cfi_rule rule = {.kind = kind};

	rule.expr.bytes = cfi_block(&r->c, &rule.expr.len);
	return rule;
}

static void restore(struct run *r, uint64_t reg)
{
	if (reg < r->machine->nr_regs)
		r->rules.reg[reg] = r->initial.reg[reg];
}

static void advance(struct run *r, uint64_t delta)
{
	uint64_t by;

	if (__builtin_mul_overflow(delta, r->cie->code_align, &by) || by > r->address - r->at)
		r->is_done = true;
	else
		r->at += by;
}

static void set_cfa(struct run *r, uint64_t reg, int64_t off)
{
	r->rules.cfa = (struct cfi_rule){.kind = CFI_RULE_REG, .off = (int64_t)reg, .plus = off};
}

/* The CFA's rule, to change a part of it; it must have this kind. */
static struct cfi_rule *cfa(struct run *r)
{
	r->is_wrong |= r->rules.cfa.kind != CFI_RULE_REG;
	return &r->rules.cfa;
}

static void run_one(struct run *r)
{
	struct cursor *c = &r->c;
	uint8_t op = cursor_u8(c), operand = op & (uint8_t)~PACKED;
	uint64_t reg, at;

	switch (op & PACKED ? op & PACKED : op) {
	case DW_CFA_nop:
	/* signing of the return address: the signature is always cleared */
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
	case CFA_AARCH64_NEGATE_RA_STATE:
		break;
	case DW_CFA_set_loc:
		at = cfi_pointer(c, r->cie->encoding, r->base);
		if (at > r->address)
			r->is_done = true;
		else
			r->at = at;
		break;
	case DW_CFA_advance_loc:
		advance(r, operand);
		break;
	case DW_CFA_advance_loc1:
		advance(r, cursor_u8(c));
		break;
	case DW_CFA_advance_loc2:
		advance(r, cursor_le16(c));
		break;
	case DW_CFA_advance_loc4:
		advance(r, cursor_le32(c));
		break;
	case DW_CFA_offset:
		set_off(r, operand, CFI_RULE_SAVED, (int64_t)cfi_uleb(c));
		break;
	case DW_CFA_offset_extended:
		reg = cfi_uleb(c);
		set_off(r, reg, CFI_RULE_SAVED, (int64_t)cfi_uleb(c));
		break;
	case DW_CFA_offset_extended_sf:
		reg = cfi_uleb(c);
		set_off(r, reg, CFI_RULE_SAVED, cfi_sleb(c));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		reg = cfi_uleb(c);
		set_off(r, reg, CFI_RULE_SAVED, (int64_t)-cfi_uleb(c));
		break;
	case DW_CFA_val_offset:
		reg = cfi_uleb(c);
		set_off(r, reg, CFI_RULE_CFA, (int64_t)cfi_uleb(c));
		break;
	case DW_CFA_val_offset_sf:
		reg = cfi_uleb(c);
		set_off(r, reg, CFI_RULE_CFA, cfi_sleb(c));
		break;
	case DW_CFA_restore:
		restore(r, operand);
		break;
	case DW_CFA_restore_extended:
		restore(r, cfi_uleb(c));
		break;
	case DW_CFA_undefined:
		set(r, cfi_uleb(c), (struct cfi_rule){.kind = CFI_RULE_LOST});
		break;
	case DW_CFA_same_value:
		set(r, cfi_uleb(c), (struct cfi_rule){.kind = CFI_RULE_SAME});
		break;
	case DW_CFA_register:
		reg = cfi_uleb(c);
		set(r, reg, (struct cfi_rule){.kind = CFI_RULE_REG, .off = (int64_t)cfi_uleb(c)});
		break;
	case DW_CFA_expression:
		reg = cfi_uleb(c);
		set(r, reg, read_expr(r, CFI_RULE_EXPR));
		break;
	case DW_CFA_val_expression:
		reg = cfi_uleb(c);
		set(r, reg, read_expr(r, CFI_RULE_VAL_EXPR));
		break;
	case DW_CFA_def_cfa:
		reg = cfi_uleb(c);
		set_cfa(r, reg, (int64_t)cfi_uleb(c));
		break;
	case DW_CFA_def_cfa_sf:
		reg = cfi_uleb(c);
		set_cfa(r, reg, factored(r, cfi_sleb(c)));
		break;
	case DW_CFA_def_cfa_register:
		cfa(r)->off = (int64_t)cfi_uleb(c);
		break;
	case DW_CFA_def_cfa_offset:
		cfa(r)->plus = (int64_t)cfi_uleb(c);
		break;
	case DW_CFA_def_cfa_offset_sf:
		cfa(r)->plus = factored(r, cfi_sleb(c));
		break;
	case DW_CFA_def_cfa_expression:
		r->rules.cfa = read_expr(r, CFI_RULE_VAL_EXPR);
		break;
	case DW_CFA_remember_state:
		if (r->nr_remembered == MAX_REMEMBERED)
			r->is_wrong = true;
		else
			r->remembered[r->nr_remembered++] = r->rules;
		break;
	case DW_CFA_restore_state:
		if (r->nr_remembered)
			r->rules = r->remembered[--r->nr_remembered];
		else
			r->is_wrong = true;
		break;
	case DW_CFA_GNU_args_size:
		cfi_uleb(c);
		break;
	default:
		r->is_wrong = true;
	}
	r->is_wrong |= !cursor_ok(c);
}

static bool run(struct run *r, const uint8_t *program, size_t len)
{
	cursor_init(&r->c, program, len);
	r->is_wrong |= len > MAX_PROGRAM_BYTES;
	while (r->c.left && !r->is_wrong && !r->is_done)
		run_one(r);
	return !r->is_wrong;
}

bool cfi_program_run(const struct cfi_machine *m, const struct cfi_fde *fde,
		     const struct cfi_base *base, uint64_t address, struct cfi_rules *out)
{
	struct run r; /* not initialised: remembered is large */

	if (address < fde->start || fde->cie.ra >= m->nr_regs)
		return false;
	r.machine = m;
	r.cie = &fde->cie;
	r.base = base;
	r.at = fde->start;
	r.address = address;
	r.nr_remembered = 0;
	r.is_wrong = r.is_done = false;
	memset(&r.rules, 0, sizeof(r.rules));
	r.rules.ra = (unsigned)fde->cie.ra;
	r.rules.is_signal = fde->cie.is_signal;
	r.initial = r.rules;
	if (!run(&r, fde->cie.program, fde->cie.program_len))
		return false;
	r.initial = r.rules;
	r.is_done = false;
	if (!run(&r, fde->program, fde->program_len))
		return false;
	*out = r.rules;
	return true;
}
