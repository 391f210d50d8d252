/*
 * From rules to a row, if all of them have the usual shapes; else each register is computed by its
 * rule.
 */
#include "cfi/rules.h"

#include <stddef.h>

static bool is_int32(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

static bool fill_cfa(const struct cfi_rule *cfa, const struct cfi_machine *m, struct cfi_row *row)
{
	row->cfa_reg = (uint8_t)cfa->off;
	row->cfa_off = (int32_t)cfa->plus;
	return cfa->kind == CFI_RULE_REG && (uint64_t)cfa->off < m->nr_regs && is_int32(cfa->plus);
}

static bool fill_ra(const struct cfi_rules *rules, const struct cfi_machine *m, struct cfi_row *row)
{
	const struct cfi_rule *r = &rules->reg[rules->ra];

	row->ra_reg = CFI_NO_REG;
	switch (r->kind) {
	case CFI_RULE_LOST:
		row->kind = CFI_ROW_OUTERMOST;
		return true;
	case CFI_RULE_SAVED:
		row->ra_off = (int32_t)r->off;
		return is_int32(r->off);
	case CFI_RULE_REG:
		row->ra_reg = (uint8_t)r->off;
		return (uint64_t)r->off < m->nr_regs;
	case CFI_RULE_UNSAID:
	case CFI_RULE_SAME:
		row->ra_reg = (uint8_t)rules->ra;
		return rules->ra == m->lr;
	default:
		return false;
	}
}

static bool fill_reg(const struct cfi_rule *r, unsigned reg, struct cfi_row *row)
{
	if (r->kind != CFI_RULE_SAVED)
		return r->kind == CFI_RULE_UNSAID || r->kind == CFI_RULE_SAME;
	if (row->nr_saved == CFI_MAX_SAVED || !is_int32(r->off))
		return false;
	row->saved_reg[row->nr_saved] = (uint8_t)reg;
	row->saved_off[row->nr_saved++] = (int32_t)r->off;
	return true;
}

/* All registers that the caller's row may need; the stack pointer is the CFA if it has no rule. */
static bool fill_regs(const struct cfi_rules *rules, const struct cfi_machine *m,
		      struct cfi_row *row)
{
	for (unsigned reg = 0; reg < m->nr_regs; reg++) {
		const struct cfi_rule *r = &rules->reg[reg];

		if (reg == rules->ra || (reg == m->sp && r->kind == CFI_RULE_UNSAID))
			continue;
		if (reg == m->sp || !fill_reg(r, reg, row))
			return false;
	}
	return true;
}

void cfi_rules_row(const struct cfi_rules *r, const struct cfi_machine *m, struct cfi_row *out)
{
	*out = (struct cfi_row){.kind = CFI_ROW_PLAIN, .is_signal = r->is_signal};
	if (!fill_ra(r, m, out) ||
	    (out->kind == CFI_ROW_PLAIN && (!fill_cfa(&r->cfa, m, out) || !fill_regs(r, m, out))))
		out->kind = CFI_ROW_HARD;
}

struct step {
	const struct cfi_rules *rules;
	struct cfi_frame old;
	uint64_t cfa;
};

static enum cfi_end eval_cfa(struct step *s)
{
	const struct cfi_rule *cfa = &s->rules->cfa;

	if (cfa->kind == CFI_RULE_VAL_EXPR)
		return cfi_expr_run(&cfa->expr, &s->old, NULL, &s->cfa);
	if (cfa->kind != CFI_RULE_REG || !cfi_frame_reg(&s->old, (uint64_t)cfa->off, &s->cfa))
		return CFI_SENSELESS;
	s->cfa += (uint64_t)cfa->plus;
	return CFI_GOES_ON;
}

/* A register that was popped already has its value: see load_saved in row.c. */
static enum cfi_end load(const struct step *s, unsigned reg, uint64_t at, uint64_t *out)
{
	if (at < s->old.stack.start && s->old.is_exact && cfi_frame_reg(&s->old, reg, out))
		return CFI_GOES_ON;
	return cfi_stack_word(&s->old.stack, at, out);
}

static enum cfi_end keep(const struct step *s, uint64_t reg, uint64_t *out)
{
	return cfi_frame_reg(&s->old, reg, out) ? CFI_GOES_ON : CFI_SENSELESS;
}

/* A register of the caller: goes on, or why it is not known. */
static enum cfi_end eval_reg(const struct step *s, unsigned reg, uint64_t *out)
{
	const struct cfi_rule *r = &s->rules->reg[reg];
	uint64_t at = s->cfa + (uint64_t)r->off;
	enum cfi_end end;

	switch (r->kind) {
	case CFI_RULE_SAVED:
		return load(s, reg, at, out);
	case CFI_RULE_CFA:
		*out = at;
		return CFI_GOES_ON;
	case CFI_RULE_REG:
		return keep(s, (uint64_t)r->off, out);
	case CFI_RULE_EXPR:
		end = cfi_expr_run(&r->expr, &s->old, &s->cfa, &at);
		return end == CFI_GOES_ON ? load(s, reg, at, out) : end;
	case CFI_RULE_VAL_EXPR:
		return cfi_expr_run(&r->expr, &s->old, &s->cfa, out);
	case CFI_RULE_LOST:
		return CFI_SENSELESS;
	default:
		return keep(s, reg, out);
	}
}

/* Registers without a rule keep their value if they are callee-saved. As with plain rows, one that
 * lies beyond the bytes of stack is not known. */
static void eval_regs(const struct step *s, struct cfi_frame *f, struct cfi_arrival *a)
{
	const struct cfi_machine *m = s->old.machine;

	for (unsigned reg = 0; reg < m->nr_regs; reg++) {
		bool has_rule = s->rules->reg[reg].kind != CFI_RULE_UNSAID;
		uint64_t v = 0;

		if (reg == m->sp || reg == s->rules->ra ||
		    (!has_rule && !(m->callee_saved >> reg & 1)) ||
		    eval_reg(s, reg, &v) != CFI_GOES_ON)
			continue;
		f->reg[reg] = v;
		a->known |= 1ull << reg;
	}
}

/* The stack pointer may have a rule of its own: where a signal was, it is not the CFA. */
static enum cfi_end eval_sp(const struct step *s, uint64_t *out)
{
	unsigned sp = s->old.machine->sp;

	if (s->rules->reg[sp].kind != CFI_RULE_UNSAID)
		return eval_reg(s, sp, out);
	*out = s->cfa;
	return CFI_GOES_ON;
}

enum cfi_end cfi_rules_apply(const struct cfi_rules *r, struct cfi_frame *f)
{
	struct step s = {.rules = r, .old = *f};
	struct cfi_arrival a = {.is_signal = r->is_signal};
	enum cfi_end end = eval_cfa(&s);

	if (end == CFI_GOES_ON)
		end = eval_reg(&s, r->ra, &a.ra);
	if (end == CFI_GOES_ON)
		end = eval_sp(&s, &a.sp);
	if (end != CFI_GOES_ON)
		return end;
	eval_regs(&s, f, &a);
	return cfi_frame_arrive(f, &a);
}
