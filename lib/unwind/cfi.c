/*
 * From what a table says of each register to a row, if all of it is of the usual shapes; else it is
 * evaluated register by register.
 */
#include "unwind/cfi.h"

#include "base/mem.h"
#include "elf/file.h"
#include "unwind/fdes.h"

struct unwind_cfi {
	struct unwind_fdes eh_frame, debug_frame;
};

/* What holds at one address. */
struct state {
	struct unwind_rules rules;
	unsigned ra; /* the column of the return address */
	bool is_signal;
};

struct unwind_cfi *unwind_cfi_open(const struct elf_file *code)
{
	struct unwind_cfi *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	unwind_fdes_init(&c->eh_frame, code, true);
	unwind_fdes_init(&c->debug_frame, code, false);
	return c;
}

void unwind_cfi_add_debug(struct unwind_cfi *c, const struct elf_file *debug)
{
	if (debug && !c->debug_frame.data)
		unwind_fdes_init(&c->debug_frame, debug, false);
}

void unwind_cfi_close(struct unwind_cfi *c)
{
	if (!c)
		return;
	unwind_fdes_fini(&c->eh_frame);
	unwind_fdes_fini(&c->debug_frame);
	mem_free(c);
}

static bool find_in(struct unwind_fdes *fdes, const struct unwind_machine *m, uint64_t address,
		    struct state *s)
{
	struct unwind_base base = {.at = fdes->data, .address = fdes->address};
	struct unwind_fde fde;

	if (!unwind_fdes_find(fdes, address, &fde) || fde.cie.ra >= m->nr_regs)
		return false;
	s->ra = (unsigned)fde.cie.ra;
	s->is_signal = fde.cie.is_signal;
	return unwind_program_run(m, &fde.cie, &base, fde.program, fde.program_len, fde.start,
				  address, &s->rules);
}

static bool find_state(struct unwind_cfi *c, const struct unwind_machine *m, uint64_t address,
		       struct state *s)
{
	return find_in(&c->eh_frame, m, address, s) || find_in(&c->debug_frame, m, address, s);
}

static bool is_int32(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

static bool fill_cfa(const struct state *s, const struct unwind_machine *m, struct unwind_row *row)
{
	const struct unwind_rule *cfa = &s->rules.cfa;

	if (cfa->kind != UNWIND_RULE_REG || (uint64_t)cfa->off >= m->nr_regs ||
	    !is_int32(cfa->plus))
		return false;
	row->cfa_reg = (uint8_t)cfa->off;
	row->cfa_off = (int32_t)cfa->plus;
	return true;
}

static bool fill_ra(const struct state *s, const struct unwind_machine *m, struct unwind_row *row)
{
	const struct unwind_rule *r = &s->rules.reg[s->ra];

	row->ra_reg = UNWIND_NO_REG;
	switch (r->kind) {
	case UNWIND_RULE_LOST:
		row->kind = UNWIND_ROW_OUTERMOST;
		return true;
	case UNWIND_RULE_SAVED:
		row->ra_off = (int32_t)r->off;
		return is_int32(r->off);
	case UNWIND_RULE_REG:
		row->ra_reg = (uint8_t)r->off;
		return (uint64_t)r->off < m->nr_regs;
	case UNWIND_RULE_UNSAID:
	case UNWIND_RULE_SAME:
		row->ra_reg = (uint8_t)s->ra;
		return s->ra == m->lr;
	default:
		return false;
	}
}

static bool fill_reg(const struct unwind_rule *r, unsigned reg, struct unwind_row *row)
{
	if (r->kind != UNWIND_RULE_SAVED)
		return r->kind == UNWIND_RULE_UNSAID || r->kind == UNWIND_RULE_SAME;
	if (row->nr_saved == UNWIND_MAX_SAVED || !is_int32(r->off))
		return false;
	row->saved_reg[row->nr_saved] = (uint8_t)reg;
	row->saved_off[row->nr_saved++] = (int32_t)r->off;
	return true;
}

/* All registers that the caller's row may ask for; the stack pointer is the CFA if nothing is said
 * of it. */
static bool fill_regs(const struct state *s, const struct unwind_machine *m, struct unwind_row *row)
{
	for (unsigned reg = 0; reg < m->nr_regs; reg++) {
		const struct unwind_rule *r = &s->rules.reg[reg];

		if (reg == s->ra || (reg == m->sp && r->kind == UNWIND_RULE_UNSAID))
			continue;
		if (reg == m->sp || !fill_reg(r, reg, row))
			return false;
	}
	return true;
}

void unwind_cfi_row(struct unwind_cfi *c, const struct unwind_machine *m, uint64_t address,
		    struct unwind_row *out)
{
	struct state s;

	*out = (struct unwind_row){.kind = UNWIND_ROW_NONE};
	if (!find_state(c, m, address, &s))
		return;
	out->kind = UNWIND_ROW_PLAIN;
	out->is_signal = s.is_signal;
	if (!fill_ra(&s, m, out) ||
	    (out->kind == UNWIND_ROW_PLAIN && (!fill_cfa(&s, m, out) || !fill_regs(&s, m, out))))
		out->kind = UNWIND_ROW_HARD;
}

struct stepping {
	const struct state *s;
	struct unwind_frame old;
	uint64_t cfa;
};

static int eval_cfa(struct stepping *t)
{
	const struct unwind_rule *cfa = &t->s->rules.cfa;

	if (cfa->kind == UNWIND_RULE_VAL_EXPR)
		return unwind_expr_run(&cfa->expr, &t->old, NULL, &t->cfa);
	if (cfa->kind != UNWIND_RULE_REG || !unwind_frame_reg(&t->old, (uint64_t)cfa->off, &t->cfa))
		return UNWIND_SENSELESS;
	t->cfa += (uint64_t)cfa->plus;
	return UNWIND_GOES_ON;
}

/* What was popped already is in its register: see row.c. */
static int load(const struct stepping *t, unsigned reg, uint64_t at, uint64_t *out)
{
	if (at < t->old.stack.start && t->old.is_exact && unwind_frame_reg(&t->old, reg, out))
		return UNWIND_GOES_ON;
	return unwind_stack_word(&t->old.stack, at, out);
}

static int keep(const struct stepping *t, uint64_t reg, uint64_t *out)
{
	return unwind_frame_reg(&t->old, reg, out) ? UNWIND_GOES_ON : UNWIND_SENSELESS;
}

/* A register of the caller: goes on, or why it is not known. */
static int eval_reg(const struct stepping *t, unsigned reg, uint64_t *out)
{
	const struct unwind_rule *r = &t->s->rules.reg[reg];
	uint64_t at = t->cfa + (uint64_t)r->off;
	int rc;

	switch (r->kind) {
	case UNWIND_RULE_SAVED:
		return load(t, reg, at, out);
	case UNWIND_RULE_CFA:
		*out = at;
		return UNWIND_GOES_ON;
	case UNWIND_RULE_REG:
		return keep(t, (uint64_t)r->off, out);
	case UNWIND_RULE_EXPR:
		rc = unwind_expr_run(&r->expr, &t->old, &t->cfa, &at);
		return rc == UNWIND_GOES_ON ? load(t, reg, at, out) : rc;
	case UNWIND_RULE_VAL_EXPR:
		return unwind_expr_run(&r->expr, &t->old, &t->cfa, out);
	case UNWIND_RULE_LOST:
		return UNWIND_SENSELESS;
	default:
		return keep(t, reg, out);
	}
}

/* What nothing is said of is kept where functions must. */
static bool is_wanted(const struct stepping *t, unsigned reg)
{
	const struct unwind_machine *m = t->old.machine;

	return reg != m->sp && reg != t->s->ra &&
	       (t->s->rules.reg[reg].kind != UNWIND_RULE_UNSAID || m->callee_saved >> reg & 1);
}

/* As the plain rows: what is beyond the bytes that were recorded is not known. */
static void eval_regs(const struct stepping *t, struct unwind_frame *f, struct unwind_arrival *a)
{
	for (unsigned reg = 0; reg < f->machine->nr_regs; reg++) {
		uint64_t v = 0;

		if (!is_wanted(t, reg) || eval_reg(t, reg, &v) != UNWIND_GOES_ON)
			continue;
		f->reg[reg] = v;
		a->kept |= 1ull << reg;
	}
}

/* The stack pointer may have a rule of its own: where a signal was, it is not the CFA. */
static int eval_sp(const struct stepping *t, uint64_t *out)
{
	unsigned sp = t->old.machine->sp;

	if (t->s->rules.reg[sp].kind != UNWIND_RULE_UNSAID)
		return eval_reg(t, sp, out);
	*out = t->cfa;
	return UNWIND_GOES_ON;
}

static int step(struct stepping *t, struct unwind_frame *f)
{
	struct unwind_arrival a = {.is_signal = t->s->is_signal};
	int rc = eval_cfa(t);

	if (rc == UNWIND_GOES_ON)
		rc = eval_reg(t, t->s->ra, &a.ra);
	if (rc == UNWIND_GOES_ON)
		rc = eval_sp(t, &a.sp);
	if (rc != UNWIND_GOES_ON)
		return rc;
	eval_regs(t, f, &a);
	return unwind_frame_arrive(f, &a);
}

int unwind_cfi_step(struct unwind_cfi *c, uint64_t address, struct unwind_frame *f)
{
	struct stepping t = {.old = *f};
	struct state s;

	if (!find_state(c, f->machine, address, &s))
		return UNWIND_NO_TABLE;
	t.s = &s;
	return step(&t, f);
}
