/*
 * libdw has parsed and run the table's program; here its answers, which are DWARF expressions for
 * each register, become a row if they are all of the usual shapes, or are evaluated one by one.
 */
#include "unwind/cfi.h"

#include "base/mem.h"
#include "elf/file.h"
#include "unwind/expr.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

struct unwind_cfi {
	Elf *elf, *debug_elf; /* over the bytes of the files */
	Dwarf *dwarf;
	Dwarf_CFI *eh_frame, *debug_frame; /* the second is the dwarf's */
};

/* An open frame description of libdw, and what it says of all registers. */
struct state {
	Dwarf_Frame *frame;
	int ra; /* the column of the return address; below 0: there is no table */
	bool is_signal;
};

/* How one register is found. */
enum rule_kind { RULE_LOST, RULE_SAME, RULE_SAVED, RULE_REG, RULE_OTHER };
struct rule {
	enum rule_kind kind;
	int64_t off; /* saved: at the CFA and this */
	uint64_t reg;
	Dwarf_Op *ops;
	size_t nr;
	Dwarf_Op mem[3];
};

static Elf *open_elf(const struct elf_file *file)
{
	size_t len;
	const uint8_t *data = elf_file_data(file, &len);

	elf_version(EV_CURRENT);
	/* nothing is written: the flag for that is ELF_C_WRITE's */
	return elf_memory((char *)(uintptr_t)data, len);
}

static void open_debug_frame(struct unwind_cfi *c, const struct elf_file *file)
{
	struct elf_section s;

	if (!elf_file_find_section(file, ".debug_frame", &s))
		return;
	c->debug_elf = open_elf(file);
	c->dwarf = c->debug_elf ? dwarf_begin_elf(c->debug_elf, DWARF_C_READ, NULL) : NULL;
	c->debug_frame = c->dwarf ? dwarf_getcfi(c->dwarf) : NULL;
}

struct unwind_cfi *unwind_cfi_open(const struct elf_file *code)
{
	struct unwind_cfi *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->elf = open_elf(code);
	c->eh_frame = c->elf ? dwarf_getcfi_elf(c->elf) : NULL;
	open_debug_frame(c, code);
	return c;
}

void unwind_cfi_add_debug(struct unwind_cfi *c, const struct elf_file *debug)
{
	if (debug && !c->debug_elf)
		open_debug_frame(c, debug);
}

void unwind_cfi_close(struct unwind_cfi *c)
{
	if (!c)
		return;
	if (c->eh_frame)
		dwarf_cfi_end(c->eh_frame);
	dwarf_end(c->dwarf);
	elf_end(c->debug_elf);
	elf_end(c->elf);
	mem_free(c);
}

static bool find_in(Dwarf_CFI *cfi, uint64_t address, struct state *s)
{
	if (!cfi || dwarf_cfi_addrframe(cfi, address, &s->frame))
		return false;
	s->ra = dwarf_frame_info(s->frame, NULL, NULL, &s->is_signal);
	return true;
}

static bool find_state(struct unwind_cfi *c, uint64_t address, struct state *s)
{
	*s = (struct state){.ra = -1};
	return find_in(c->eh_frame, address, s) || find_in(c->debug_frame, address, s);
}

/* The two operations of an offset from the CFA. */
static bool is_saved(const struct rule *r)
{
	return r->nr >= 1 && r->ops[0].atom == DW_OP_call_frame_cfa &&
	       (r->nr == 1 || (r->nr == 2 && r->ops[1].atom == DW_OP_plus_uconst));
}

static void find_rule(const struct state *s, int reg, struct rule *r)
{
	*r = (struct rule){.kind = RULE_OTHER};
	if (dwarf_frame_register(s->frame, reg, r->mem, &r->ops, &r->nr)) {
		r->kind = RULE_LOST;
	} else if (!r->nr) {
		r->kind = r->ops ? RULE_LOST : RULE_SAME;
	} else if (is_saved(r)) {
		r->kind = RULE_SAVED;
		r->off = r->nr == 2 ? (int64_t)r->ops[1].number : 0;
	} else if (r->nr == 1 && r->ops[0].atom == DW_OP_regx) {
		r->kind = RULE_REG;
		r->reg = r->ops[0].number;
	}
}

static bool is_int32(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

static bool fill_cfa(const struct state *s, const struct unwind_machine *m, struct unwind_row *row)
{
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_frame_cfa(s->frame, &ops, &nr) || nr != 1 || ops[0].atom != DW_OP_bregx ||
	    ops[0].number >= m->nr_regs || !is_int32((int64_t)ops[0].number2))
		return false;
	row->cfa_reg = (uint8_t)ops[0].number;
	row->cfa_off = (int32_t)ops[0].number2;
	return true;
}

static bool fill_ra(const struct state *s, const struct unwind_machine *m, struct unwind_row *row)
{
	struct rule r;

	find_rule(s, s->ra, &r);
	row->ra_reg = UNWIND_NO_REG;
	if (r.kind == RULE_LOST)
		row->kind = UNWIND_ROW_OUTERMOST;
	if (r.kind == RULE_LOST)
		return true;
	if (r.kind == RULE_SAVED && is_int32(r.off)) {
		row->ra_off = (int32_t)r.off;
		return true;
	}
	row->ra_reg = (uint8_t)(r.kind == RULE_REG ? r.reg : (uint64_t)s->ra);
	return (r.kind == RULE_REG && r.reg < m->nr_regs) ||
	       (r.kind == RULE_SAME && s->ra == m->lr);
}

static bool fill_reg(const struct rule *r, unsigned reg, struct unwind_row *row)
{
	if (r->kind != RULE_SAVED)
		return r->kind == RULE_LOST || r->kind == RULE_SAME;
	if (row->nr_saved == UNWIND_MAX_SAVED || !is_int32(r->off))
		return false;
	row->saved_reg[row->nr_saved] = (uint8_t)reg;
	row->saved_off[row->nr_saved++] = (int32_t)r->off;
	return true;
}

/* All registers that the caller's row may ask for; sp is the CFA by definition, unless a rule of
 * its own says another thing. */
static bool fill_regs(const struct state *s, const struct unwind_machine *m, struct unwind_row *row)
{
	struct rule r;

	for (unsigned reg = 0; reg < m->nr_regs; reg++) {
		find_rule(s, (int)reg, &r);
		if (reg == m->sp && r.nr == 2 && r.ops[1].atom == DW_OP_stack_value)
			continue;
		if (reg == m->sp && r.nr == 0)
			continue;
		if (reg != m->ra && !fill_reg(&r, reg, row))
			return false;
	}
	return true;
}

void unwind_cfi_row(struct unwind_cfi *c, const struct unwind_machine *m, uint64_t address,
		    struct unwind_row *out)
{
	struct state s;

	*out = (struct unwind_row){.kind = UNWIND_ROW_NONE};
	if (!find_state(c, address, &s))
		return;
	out->kind = UNWIND_ROW_PLAIN;
	out->is_signal = s.is_signal;
	if (s.ra < 0)
		out->kind = UNWIND_ROW_NONE;
	else if (!fill_cfa(&s, m, out) || !fill_ra(&s, m, out) || !fill_regs(&s, m, out))
		out->kind = UNWIND_ROW_HARD;
	free(s.frame);
}

struct stepping {
	const struct state *s;
	struct unwind_frame old;
	uint64_t cfa;
};

static bool is_unsaid(const struct rule *r)
{
	return r->kind == RULE_LOST || r->kind == RULE_SAME;
}

/* Functions leave it as it was: also the return address while it is in its register. */
static bool is_kept(const struct stepping *t, int reg)
{
	const struct unwind_machine *m = t->old.machine;

	return reg == m->lr ? reg == t->s->ra : m->callee_saved >> reg & 1;
}

/*
 * A register of the caller: goes on, and *has says whether it is known. What no rule speaks of is
 * as it was where functions must keep it, whatever libdw says: its list of these has 0 for rbx (3).
 */
static int eval_reg(const struct stepping *t, int reg, bool *has, uint64_t *out)
{
	enum unwind_place place = UNWIND_PLACE_REG;
	uint64_t v = (uint64_t)reg;
	struct rule r;
	int rc = UNWIND_GOES_ON;

	*has = false;
	find_rule(t->s, reg, &r);
	if (is_unsaid(&r) && !is_kept(t, reg))
		return rc;
	if (!is_unsaid(&r))
		rc = unwind_expr(&t->old, t->cfa, r.ops, r.nr, &place, &v);
	if (rc != UNWIND_GOES_ON)
		return rc;
	*has = true;
	*out = v;
	if (place == UNWIND_PLACE_STACK && v < t->old.stack.start && t->old.is_exact)
		*has = unwind_frame_reg(&t->old, (uint64_t)reg, out);
	else if (place == UNWIND_PLACE_STACK)
		rc = unwind_stack_word(&t->old.stack, v, out);
	else if (place == UNWIND_PLACE_REG)
		*has = unwind_frame_reg(&t->old, v, out);
	return rc;
}

/* As the plain rows: what was popped already is in its register, and what is beyond the bytes that
 * were recorded is not known. */
static void eval_regs(const struct stepping *t, struct unwind_frame *f, struct unwind_arrival *a)
{
	for (unsigned reg = 0; reg < f->machine->nr_regs; reg++) {
		uint64_t v = 0;
		bool has;

		if (reg == f->machine->sp || (int)reg == t->s->ra)
			continue;
		if (eval_reg(t, (int)reg, &has, &v) != UNWIND_GOES_ON || !has)
			continue;
		f->reg[reg] = v;
		a->kept |= 1ull << reg;
	}
}

static int eval_cfa(struct stepping *t)
{
	enum unwind_place place;
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_frame_cfa(t->s->frame, &ops, &nr) || !nr)
		return UNWIND_SENSELESS;
	return unwind_expr(&t->old, 0, ops, nr, &place, &t->cfa);
}

/* The stack pointer may have a rule of its own: where a signal was, it is not the CFA. */
static int eval_sp(const struct stepping *t, uint64_t *out)
{
	struct rule r;
	bool has;
	int rc;

	find_rule(t->s, t->old.machine->sp, &r);
	if (!r.nr) {
		*out = t->cfa;
		return UNWIND_GOES_ON;
	}
	rc = eval_reg(t, t->old.machine->sp, &has, out);
	return rc == UNWIND_GOES_ON && !has ? UNWIND_SENSELESS : rc;
}

static int eval_ra(const struct stepping *t, uint64_t *out)
{
	struct rule r;
	bool has;
	int rc;

	find_rule(t->s, t->s->ra, &r);
	if (r.kind == RULE_LOST)
		return UNWIND_WHOLE;
	rc = eval_reg(t, t->s->ra, &has, out);
	return rc == UNWIND_GOES_ON && !has ? UNWIND_SENSELESS : rc;
}

static int step(struct stepping *t, struct unwind_frame *f)
{
	struct unwind_arrival a = {.is_signal = t->s->is_signal};
	int rc = eval_cfa(t);

	if (rc == UNWIND_GOES_ON)
		rc = eval_ra(t, &a.ra);
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
	int rc;

	if (!find_state(c, address, &s))
		return UNWIND_NO_TABLE;
	t.s = &s;
	rc = s.ra < 0 ? UNWIND_NO_TABLE : step(&t, f);
	free(s.frame);
	return rc;
}
