/*
 * Source: Arm ARM, C4.1 (encoding index). Instructions outside of what is relative to their place,
 * branches and exceptions do the same anywhere; groups of encodings that are not allocated, and
 * those of matrices, are refused.
 */
#include "patch/arm64.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

enum { BYTES = 4, SITE = 4 };

/* Where the number is that is relative. */
enum field { NO_FIELD, IMM26, IMM19, IMM14, ADR, ADRP };

static const struct row {
	uint32_t mask, code;
	uint8_t flow, field;
	bool is_fixed, is_mark;
} rows[] = {
    {0xfc000000, 0x14000000, PATCH_JUMPS, IMM26, 0, 0},             /* b */
    {0xfc000000, 0x94000000, PATCH_CALLS, IMM26, 1, 0},             /* bl */
    {0xff000000, 0x54000000, PATCH_BRANCHES, IMM19, 0, 0},          /* b.cond, bc.cond */
    {0x7e000000, 0x34000000, PATCH_BRANCHES, IMM19, 0, 0},          /* cbz, cbnz */
    {0x7e000000, 0x36000000, PATCH_BRANCHES, IMM14, 0, 0},          /* tbz, tbnz */
    {0x9f000000, 0x10000000, PATCH_GOES_ON, ADR, 0, 0},             /* adr */
    {0x9f000000, 0x90000000, PATCH_GOES_ON, ADRP, 0, 0},            /* adrp */
    {0xff000000, 0xd8000000, PATCH_GOES_ON, IMM19, 1, 0},           /* prfm of a literal */
    {0x3f000000, 0x18000000, PATCH_GOES_ON, IMM19, 0, 0},           /* ldr of a literal */
    {0x3f000000, 0x1c000000, PATCH_GOES_ON, IMM19, 1, 0},           /* the same to a vector */
    {0xfffffc1f, 0xd61f0000, PATCH_JUMPS_INDIRECT, NO_FIELD, 0, 0}, /* br */
    {0xfefff800, 0xd61f0800, PATCH_JUMPS_INDIRECT, NO_FIELD, 0, 0}, /* braa, … */
    {0xfffffc1f, 0xd63f0000, PATCH_CALLS_INDIRECT, NO_FIELD, 1, 0}, /* blr */
    {0xfefff800, 0xd63f0800, PATCH_CALLS_INDIRECT, NO_FIELD, 1, 0}, /* blraa, … */
    {0xfffffc1f, 0xd65f0000, PATCH_RETURNS, NO_FIELD, 0, 0},        /* ret */
    {0xfffffbff, 0xd65f0bff, PATCH_RETURNS, NO_FIELD, 0, 0},        /* retaa, retab */
    {0xffe0001f, 0xd4000001, PATCH_GOES_ON, NO_FIELD, 1, 0},        /* svc */
    {0xffe0001f, 0xd4200000, PATCH_STOPS, NO_FIELD, 1, 0},          /* brk */
    {0xffffffff, 0xd503245f, PATCH_GOES_ON, NO_FIELD, 1, 1},        /* bti c */
    {0xffffffff, 0xd503249f, PATCH_GOES_ON, NO_FIELD, 1, 0},        /* bti j */
    {0xffffffff, 0xd50324df, PATCH_GOES_ON, NO_FIELD, 1, 1},        /* bti jc */
    {0xffffffff, 0xd503233f, PATCH_GOES_ON, NO_FIELD, 1, 1},        /* paciasp */
    {0xffffffff, 0xd503237f, PATCH_GOES_ON, NO_FIELD, 1, 1},        /* pacibsp */
    {0xffc00000, 0xd5000000, PATCH_GOES_ON, NO_FIELD, 0, 0},        /* hints, barriers, msr, mrs */
    /* By bits 25 to 28: */
    {0x1c000000, 0x10000000, PATCH_GOES_ON, NO_FIELD, 0, 0}, /* numbers that it has itself */
    {0x0a000000, 0x08000000, PATCH_GOES_ON, NO_FIELD, 0, 0}, /* memory */
    {0x0e000000, 0x0a000000, PATCH_GOES_ON, NO_FIELD, 0, 0}, /* registers */
    {0x0e000000, 0x0e000000, PATCH_GOES_ON, NO_FIELD, 0, 0}, /* vectors */
    {0x1e000000, 0x04000000, PATCH_GOES_ON, NO_FIELD, 0, 0}, /* vectors of any length */
};

/* The bits from one on, as a number with a sign. */
static int64_t bits(uint32_t code, unsigned from, unsigned nr)
{
	return (int32_t)(code << (32 - from - nr)) >> (32 - nr);
}

static int64_t relative(uint32_t code, enum field field)
{
	switch (field) {
	case IMM26:
		return bits(code, 0, 26) * BYTES;
	case IMM19:
		return bits(code, 5, 19) * BYTES;
	case IMM14:
		return bits(code, 5, 14) * BYTES;
	case ADR:
	case ADRP:
		return bits(code, 5, 19) * 4 + (code >> 29 & 3);
	default:
		return 0;
	}
}

static const struct row *find_row(uint32_t code)
{
	return ARRAY_FIND(r, rows, ARRAY_NR(rows), (code & r->mask) == r->code);
}

bool patch_arm64_decode(uint32_t code, struct patch_arm64_instruction *out)
{
	const struct row *r = find_row(code);

	if (!r)
		return false;
	*out = (struct patch_arm64_instruction){.flow = (enum patch_flow)r->flow,
						.has_target = r->field != NO_FIELD,
						.relative = relative(code, (enum field)r->field),
						.is_fixed = r->is_fixed,
						.is_mark = r->is_mark};
	return true;
}

/* --- planning */

static uint32_t code_at(const struct patch_code *code, size_t at)
{
	uint32_t word;

	memcpy(&word, code->bytes + at, sizeof(word));
	return word;
}

static bool leads(const struct patch_arm64_instruction *i)
{
	return i->has_target && i->flow != PATCH_GOES_ON;
}

/* Whether an indirect jump may lead to the site: not if the stack is deeper there. */
static bool may_enter(const struct patch_function *f, size_t at, const struct patch_plan *p)
{
	int64_t there, least, most;

	return !f->depth || !f->depth(f->arg, f->code.address + at, &there, &most) ||
	       !f->depth(f->arg, p->address, &least, &most) || most >= there;
}

static enum patch_refusal check(const struct patch_function *f, size_t at,
				const struct patch_arm64_instruction *i, const struct patch_plan *p)
{
	const uint64_t target = f->code.address + at + (uint64_t)i->relative;

	if (leads(i) && i->flow != PATCH_CALLS && target >= f->code.address && target <= p->address)
		return PATCH_LOOPS;
	if (i->flow == PATCH_JUMPS_INDIRECT && may_enter(f, at, p))
		return PATCH_MAY_BE_ENTERED;
	return PATCH_ACCEPTED;
}

static enum patch_refusal choose(const struct patch_function *f, struct patch_plan *p)
{
	struct patch_arm64_instruction i;
	size_t at = 0;

	while (at + BYTES <= f->code.len && patch_arm64_decode(code_at(&f->code, at), &i) &&
	       i.is_mark)
		at += BYTES;
	if (at + BYTES > f->code.len)
		return PATCH_TOO_SHORT;
	if (!patch_arm64_decode(code_at(&f->code, at), &i))
		return PATCH_NOT_UNDERSTOOD;
	if (i.flow == PATCH_CALLS_INDIRECT)
		return PATCH_HAS_CALL;
	if (i.is_fixed && i.flow != PATCH_CALLS)
		return PATCH_NOT_MOVABLE;
	p->address = f->code.address + at;
	p->len = SITE;
	p->moved_len = i.flow == PATCH_CALLS ? 0 : BYTES;
	p->span = (struct patch_span){.from = p->address, .to = p->address + SITE};
	memcpy(p->old, f->code.bytes + at, SITE);
	return PATCH_ACCEPTED;
}

enum patch_refusal patch_arm64_plan(const struct patch_function *f, struct patch_plan *out)
{
	struct patch_plan p = {0};
	struct patch_arm64_instruction i;
	enum patch_refusal refusal = choose(f, &p);

	if (f->code.len % BYTES && refusal == PATCH_ACCEPTED)
		refusal = PATCH_NOT_UNDERSTOOD;
	for (size_t at = 0; at < f->code.len && refusal == PATCH_ACCEPTED; at += BYTES)
		refusal = patch_arm64_decode(code_at(&f->code, at), &i) ? check(f, at, &i, &p)
									: PATCH_NOT_UNDERSTOOD;
	if (refusal == PATCH_ACCEPTED)
		*out = p;
	return refusal;
}

/* --- moving */

/* The places of literals and of what refers to them, in instructions. */
enum {
	LOAD_BLOCK = 3,
	SKIP = 5,
	LOAD_NUMBER = 6,
	COUNT = 8,
	MOVED = 14,
	NR_LITERALS = 4, /* block, number, shared, target */
	TARGET = 3,
	MAX_INSTRUCTIONS = MOVED + 3 + 1 + 2,
	LITERALS = MAX_INSTRUCTIONS * BYTES,
	COUNTER_BYTES = 8,
};
_Static_assert(LITERALS % 8 == 0 && LITERALS + NR_LITERALS * 8 <= PATCH_TRAMPOLINE_BYTES,
	       "it fits, and literals are aligned");

static const uint32_t counting[MOVED] = {
    0xa9be47f0, /* stp x16, x17, [sp, #-32]! */
    0xf9000bef, /* str x15, [sp, #16] */
    0xd53bd050, /* mrs x16, tpidr_el0 */
    0x58000011, /* ldr x17, =block */
    0xf8716a10, /* ldr x16, [x16, x17] */
    0xb4000010, /* cbz x16, shared */
    0x58000011, /* ldr x17, =number*8 */
    0x8b110210, /* add x16, x16, x17 */
    0xc85f7e11, /* ldxr x17, [x16] */
    0x91000631, /* add x17, x17, #1 */
    0xc80f7e11, /* stxr w15, x17, [x16] */
    0x35ffffaf, /* cbnz w15, .-12 */
    0xf9400bef, /* ldr x15, [sp, #16] */
    0xa8c247f0, /* ldp x16, x17, [sp], #32 */
};

struct writer {
	struct patch_trampoline *t;
	int rc;
};

static void put(struct writer *w, uint32_t code)
{
	memcpy(w->t->code + w->t->len, &code, sizeof(code));
	w->t->len += BYTES;
}

static void add_to(struct writer *w, size_t index, uint32_t bits_of)
{
	uint32_t code;

	memcpy(&code, w->t->code + index * BYTES, sizeof(code));
	code |= bits_of;
	memcpy(w->t->code + index * BYTES, &code, sizeof(code));
}

/* The 19 bits that lead from an instruction to a byte of the trampoline. */
static uint32_t near(size_t index, size_t to)
{
	return (uint32_t)((to - index * BYTES) / BYTES & 0x7ffff) << 5;
}

static void set_literal(struct writer *w, size_t nr, uint64_t value)
{
	memcpy(w->t->code + LITERALS + nr * sizeof(value), &value, sizeof(value));
}

static uint32_t branch(struct writer *w, uint32_t opcode, uint64_t from, uint64_t to)
{
	const int64_t by = (int64_t)(to - from), reach = 1 << 27;

	if (by < -reach || by >= reach)
		w->rc = -ERANGE;
	return opcode | ((uint32_t)(by / BYTES) & 0x3ffffff);
}

static void put_branch(struct writer *w, uint64_t to)
{
	put(w, branch(w, 0x14000000, w->t->address + w->t->len, to));
}

static size_t index_of(const struct writer *w)
{
	return w->t->len / BYTES;
}

/* ldr of a literal: its address is loaded, then what is there. By the size of the old one. */
static void put_load(struct writer *w, uint32_t code, uint64_t target)
{
	static const uint32_t loads[] = {0xb9400000, 0xf9400000, 0xb9800000};
	const uint32_t to = code & 0x1f;

	if (to == 31) { /* the zero register: nothing to load from */
		w->rc = -EINVAL;
		return;
	}
	set_literal(w, TARGET, target);
	put(w, 0x58000000 | to | near(index_of(w), LITERALS + TARGET * 8));
	put(w, loads[code >> 30] | to << 5 | to);
}

/* The condition leads over a branch, which reaches further. */
static void put_condition(struct writer *w, uint32_t code, uint64_t target, uint64_t next)
{
	const bool tests = (code & 0x7e000000) == 0x36000000;
	const uint32_t field = tests ? 0x3fffu << 5 : 0x7ffffu << 5;

	put(w, (code & ~field) | 2u << 5);
	put_branch(w, next);
	put_branch(w, target);
}

static void put_moved(struct writer *w, const struct patch_plan *p)
{
	struct patch_arm64_instruction i = {0};
	const uint64_t next = p->address + BYTES;
	uint64_t target;
	uint32_t code;

	memcpy(&code, p->old, sizeof(code));
	if (!patch_arm64_decode(code, &i)) {
		w->rc = -EINVAL;
		return;
	}
	target = p->address + (uint64_t)i.relative;
	if (i.flow == PATCH_BRANCHES) {
		put_condition(w, code, target, next);
	} else if (i.flow == PATCH_JUMPS || i.flow == PATCH_CALLS) {
		put_branch(w, target);
	} else if (find_row(code)->field == ADR || find_row(code)->field == ADRP) {
		if (find_row(code)->field == ADRP)
			target = (p->address & ~0xfffull) + ((uint64_t)i.relative << 12);
		set_literal(w, TARGET, target);
		put(w, 0x58000000 | (code & 0x1f) | near(index_of(w), LITERALS + TARGET * 8));
	} else if (i.has_target) {
		put_load(w, code, target);
	} else {
		put(w, code);
	}
	if (i.flow == PATCH_GOES_ON)
		put_branch(w, next);
}

int patch_arm64_move(const struct patch_plan *plan, const struct patch_counter *counter,
		     uint64_t address, struct patch_trampoline *out)
{
	const uint64_t number = (uint64_t)counter->number * COUNTER_BYTES;
	struct patch_trampoline t = {.address = address};
	struct writer w = {.t = &t, .rc = address % 8 ? -EINVAL : 0};
	uint32_t replacement;

	for (size_t k = 0; k < MOVED; k++)
		put(&w, counting[k]);
	put_moved(&w, plan);
	add_to(&w, SKIP, near(SKIP, t.len));
	put(&w, 0x58000010 | near(index_of(&w), LITERALS + 2 * 8)); /* ldr x16, =shared */
	put_branch(&w, address + (uint64_t)COUNT * BYTES);
	add_to(&w, LOAD_BLOCK, near(LOAD_BLOCK, LITERALS));
	add_to(&w, LOAD_NUMBER, near(LOAD_NUMBER, LITERALS + 8));
	set_literal(&w, 0, (uint64_t)(int64_t)counter->block);
	set_literal(&w, 1, number);
	set_literal(&w, 2, counter->shared + number);
	t.len = LITERALS + NR_LITERALS * 8;
	t.nr_moved = 1;
	t.moved[0].to = t.moved[1].to = MOVED * BYTES;
	replacement = branch(&w, plan->moved_len ? 0x14000000 : 0x94000000, plan->address, address);
	memcpy(t.replacement, &replacement, sizeof(replacement));
	if (w.rc == 0)
		*out = t;
	return w.rc;
}
