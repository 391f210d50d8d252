/*
 * Converts rules to a row if they have the usual shapes, or applies them one by one.
 */
#include "cfi/rules.h"

#include <stddef.h>

static bool is_int32(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
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
		return (uint64_t)r->off < m->nr_regs && !r->plus;
	case CFI_RULE_UNSAID:
	case CFI_RULE_SAME:
		row->ra_reg = (uint8_t)rules->ra;
		return rules->ra == m->lr;
	default:
		return false;
	}
}

/* The CFA and the saved registers. A stack pointer without a rule is the CFA. */
static bool fill_regs(const struct cfi_rules *rules, const struct cfi_machine *m,
		      struct cfi_row *row)
{
	const struct cfi_rule *cfa = &rules->cfa;

	row->cfa_reg = (uint8_t)cfa->off;
	row->cfa_off = (int32_t)cfa->plus;
	if (cfa->kind != CFI_RULE_REG || (uint64_t)cfa->off >= m->nr_regs || !is_int32(cfa->plus))
		return false;
	for (unsigned reg = 0; reg < m->nr_regs; reg++) {
		const struct cfi_rule *r = &rules->reg[reg];

		if (reg == rules->ra || r->kind == CFI_RULE_UNSAID ||
		    (r->kind == CFI_RULE_SAME && reg != m->sp))
			continue;
		if (r->kind != CFI_RULE_SAVED || reg == m->sp || row->nr_saved == CFI_MAX_SAVED ||
		    !is_int32(r->off))
			return false;
		row->saved_reg[row->nr_saved] = (uint8_t)reg;
		row->saved_off[row->nr_saved++] = (int32_t)r->off;
	}
	return true;
}

void cfi_rules_row(const struct cfi_rules *r, const struct cfi_machine *m, struct cfi_row *out)
{
	*out = (struct cfi_row){.kind = CFI_ROW_PLAIN, .is_signal = r->is_signal};
	if (!fill_ra(r, m, out) || (out->kind == CFI_ROW_PLAIN && !fill_regs(r, m, out)))
		out->kind = CFI_ROW_HARD;
}

struct step {
	const struct cfi_rules *rules;
	struct cfi_frame old;
	uint64_t cfa;
};

/* A register may have been restored already: see cfi_row_apply. */
static enum cfi_end load(const struct step *s, unsigned reg, uint64_t at, uint64_t *out)
{
	if (at < s->old.reg[s->old.machine->sp] && s->old.is_exact &&
	    cfi_frame_reg(&s->old, reg, out))
		return CFI_GOES_ON;
	return cfi_frame_word(&s->old, at, out);
}

static enum cfi_end keep(const struct step *s, uint64_t reg, int64_t plus, uint64_t *out)
{
	if (!cfi_frame_reg(&s->old, reg, out))
		return CFI_INVALID;
	*out += (uint64_t)plus;
	return CFI_GOES_ON;
}

static enum cfi_end eval_cfa(const struct step *s, uint64_t *out)
{
	const struct cfi_rule *r = &s->rules->cfa;
	enum cfi_end end;

	if (r->kind == CFI_RULE_VAL_EXPR)
		return cfi_expr_run(&r->expr, &s->old, NULL, out);
	if (r->kind != CFI_RULE_REG && r->kind != CFI_RULE_LOADED)
		return CFI_INVALID;
	end = keep(s, (uint64_t)r->off, r->plus, out);
	return end == CFI_GOES_ON && r->kind == CFI_RULE_LOADED ? cfi_frame_word(&s->old, *out, out)
								: end;
}

/* A register of the caller. CFI_GOES_ON, or why it is unknown. */
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
		return keep(s, (uint64_t)r->off, r->plus, out);
	case CFI_RULE_LOADED:
		end = keep(s, (uint64_t)r->off, r->plus, &at);
		return end == CFI_GOES_ON ? load(s, reg, at, out) : end;
	case CFI_RULE_EXPR:
		end = cfi_expr_run(&r->expr, &s->old, &s->cfa, &at);
		return end == CFI_GOES_ON ? load(s, reg, at, out) : end;
	case CFI_RULE_VAL_EXPR:
		return cfi_expr_run(&r->expr, &s->old, &s->cfa, out);
	case CFI_RULE_LOST:
		return CFI_INVALID;
	default:
		return keep(s, reg, 0, out);
	}
}

static bool is_ra_in_register(const struct cfi_rules *r)
{
	uint8_t kind = r->reg[r->ra].kind;

	return kind == CFI_RULE_UNSAID || kind == CFI_RULE_SAME || kind == CFI_RULE_REG;
}

enum cfi_end cfi_rules_apply(const struct cfi_rules *r, struct cfi_frame *f)
{
	const struct cfi_machine *m = f->machine;
	struct step s = {.rules = r, .old = *f};
	struct cfi_arrival a = {.is_signal = r->is_signal, .ra_was_lr = is_ra_in_register(r)};
	enum cfi_end end = eval_cfa(&s, &s.cfa);

	if (end == CFI_GOES_ON)
		end = eval_reg(&s, r->ra, &a.ra);

	/* At a signal frame, the stack pointer has a rule of its own. */
	a.sp = s.cfa;
	if (end == CFI_GOES_ON && r->reg[m->sp].kind != CFI_RULE_UNSAID)
		end = eval_reg(&s, m->sp, &a.sp);
	if (end != CFI_GOES_ON)
		return end;

	/* Registers without a rule keep their value if they are callee-saved. As with plain rows,
	 * one that lies beyond the bytes of stack is not known. */
	for (unsigned reg = 0; reg < m->nr_regs; reg++) {
		bool has_rule = r->reg[reg].kind != CFI_RULE_UNSAID;
		uint64_t v = 0;

		if (reg == m->sp || reg == r->ra || (!has_rule && !(m->callee_saved >> reg & 1)) ||
		    eval_reg(&s, reg, &v) != CFI_GOES_ON)
			continue;
		f->reg[reg] = v;
		a.known |= 1ull << reg;
	}
	return cfi_frame_arrive(f, &a);
}
