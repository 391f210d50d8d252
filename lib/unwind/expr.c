/*
 * A machine of one stack. An operation is a row of a table by its code; those that unwind tables
 * cannot have (of types, of objects, of other threads …) have none, and end it.
 */
#include "unwind/expr.h"

#include <dwarf.h>

enum { MAX_DEPTH = 64, MAX_STEPS = 1000, MAX_OPS = 256, WORD_BYTES = 8 };

struct run {
	const struct unwind_frame *frame;
	uint64_t cfa;
	uint64_t value[MAX_DEPTH];
	unsigned depth;
	int end; /* UNWIND_GOES_ON, or why it ended */
	enum unwind_place place;
	const Dwarf_Op *op; /* the present one */
	const Dwarf_Op *ops;
	size_t nr, next;
};

static void fail(struct run *r)
{
	r->end = UNWIND_SENSELESS;
}

static void push(struct run *r, uint64_t v)
{
	if (r->depth == MAX_DEPTH)
		fail(r);
	else
		r->value[r->depth++] = v;
}

static uint64_t pop(struct run *r)
{
	if (r->depth)
		return r->value[--r->depth];
	fail(r);
	return 0;
}

/* From the top: 0. */
static void pick(struct run *r, uint64_t i)
{
	if (i < r->depth)
		push(r, r->value[r->depth - 1 - i]);
	else
		fail(r);
}

static void push_reg(struct run *r, uint64_t number, uint64_t offset)
{
	uint64_t v;

	if (number == r->frame->machine->ra && r->frame->machine->lr == UNWIND_NO_REG)
		push(r, r->frame->pc + offset); /* that column is the program counter */
	else if (unwind_frame_reg(r->frame, number, &v))
		push(r, v + offset);
	else
		fail(r);
}

static void load(struct run *r, uint64_t bytes)
{
	uint64_t v = 0, mask = bytes < WORD_BYTES ? (1ull << bytes * 8) - 1 : UINT64_MAX;
	int rc = unwind_stack_word(&r->frame->stack, pop(r), &v);

	if (!bytes || bytes > WORD_BYTES)
		fail(r);
	if (r->end == UNWIND_GOES_ON)
		r->end = rc;
	push(r, v & mask);
}

static void constant(struct run *r)
{
	push(r, r->op->number);
}

static void literal(struct run *r)
{
	push(r, r->op->atom - DW_OP_lit0);
}

static void base(struct run *r)
{
	push_reg(r, r->op->atom - DW_OP_breg0, r->op->number);
}

static void base_wide(struct run *r)
{
	push_reg(r, r->op->number, r->op->number2);
}

static void in_reg(struct run *r)
{
	push(r, r->op->number);
	r->place = UNWIND_PLACE_REG;
}

static void in_low_reg(struct run *r)
{
	push(r, r->op->atom - DW_OP_reg0);
	r->place = UNWIND_PLACE_REG;
}

static void is_value(struct run *r)
{
	r->place = UNWIND_PLACE_VALUE;
}

static void frame_base(struct run *r)
{
	push(r, r->cfa);
}

static void deref(struct run *r)
{
	load(r, WORD_BYTES);
}

static void deref_size(struct run *r)
{
	load(r, r->op->number);
}

static void plus_constant(struct run *r)
{
	push(r, pop(r) + r->op->number);
}

static void dup_top(struct run *r)
{
	pick(r, 0);
}

static void over(struct run *r)
{
	pick(r, 1);
}

static void pick_any(struct run *r)
{
	pick(r, r->op->number);
}

static void drop(struct run *r)
{
	pop(r);
}

static void swap(struct run *r)
{
	uint64_t a = pop(r), b = pop(r);

	push(r, a);
	push(r, b);
}

static void rotate(struct run *r)
{
	uint64_t a = pop(r), b = pop(r), c = pop(r);

	push(r, a);
	push(r, c);
	push(r, b);
}

static void unary(struct run *r)
{
	uint64_t v = pop(r);

	switch (r->op->atom) {
	case DW_OP_abs:
		v = (int64_t)v < 0 ? -v : v;
		break;
	case DW_OP_neg:
		v = -v;
		break;
	default:
		v = ~v;
		break;
	}
	push(r, v);
}

static uint64_t shift_arithmetic(uint64_t a, uint64_t b)
{
	uint64_t sign = (int64_t)a < 0 ? UINT64_MAX : 0;

	if (b > 63)
		return sign;
	return a >> b | (b ? sign << (64 - b) : 0);
}

/* DW_OP_div is signed, of which the least by -1 has no result. */
static uint64_t divide(struct run *r, uint64_t a, uint64_t b)
{
	if (!b || (a == 1ull << 63 && b == UINT64_MAX)) {
		fail(r);
		return 0;
	}
	return (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t modulo(struct run *r, uint64_t a, uint64_t b)
{
	if (b)
		return a % b;
	fail(r);
	return 0;
}

static uint64_t arithmetic(struct run *r, uint64_t a, uint64_t b)
{
	switch (r->op->atom) {
	case DW_OP_and:
		return a & b;
	case DW_OP_or:
		return a | b;
	case DW_OP_xor:
		return a ^ b;
	case DW_OP_plus:
		return a + b;
	case DW_OP_minus:
		return a - b;
	case DW_OP_mul:
		return a * b;
	case DW_OP_div:
		return divide(r, a, b);
	case DW_OP_mod:
		return modulo(r, a, b);
	case DW_OP_shl:
		return b > 63 ? 0 : a << b;
	case DW_OP_shr:
		return b > 63 ? 0 : a >> b;
	default:
		return shift_arithmetic(a, b);
	}
}

static void binary(struct run *r)
{
	uint64_t b = pop(r), a = pop(r);

	push(r, arithmetic(r, a, b));
}

static void compare(struct run *r)
{
	int64_t b = (int64_t)pop(r), a = (int64_t)pop(r);
	unsigned op = r->op->atom;

	push(r, (op == DW_OP_eq && a == b) || (op == DW_OP_ne && a != b) ||
		    (op == DW_OP_lt && a < b) || (op == DW_OP_le && a <= b) ||
		    (op == DW_OP_gt && a > b) || (op == DW_OP_ge && a >= b));
}

/* The offset counts from behind the jump: the operation there, or the end. */
static void jump(struct run *r)
{
	uint64_t to = r->op->offset + 3 + r->op->number;

	for (r->next = 0; r->next < r->nr; r->next++)
		if (r->ops[r->next].offset == to)
			return;
}

static void branch(struct run *r)
{
	if (pop(r))
		jump(r);
}

static void nothing(struct run *r)
{
	(void)r;
}

static const struct {
	uint8_t from, to; /* codes */
	void (*run)(struct run *r);
} table[] = {
    {DW_OP_call_frame_cfa, DW_OP_call_frame_cfa, frame_base},
    {DW_OP_breg0, DW_OP_breg31, base},
    {DW_OP_plus_uconst, DW_OP_plus_uconst, plus_constant},
    {DW_OP_deref, DW_OP_deref, deref},
    {DW_OP_lit0, DW_OP_lit31, literal},
    {DW_OP_addr, DW_OP_addr, constant},
    {DW_OP_const1u, DW_OP_consts, constant},
    {DW_OP_dup, DW_OP_dup, dup_top},
    {DW_OP_drop, DW_OP_drop, drop},
    {DW_OP_over, DW_OP_over, over},
    {DW_OP_pick, DW_OP_pick, pick_any},
    {DW_OP_swap, DW_OP_swap, swap},
    {DW_OP_rot, DW_OP_rot, rotate},
    {DW_OP_abs, DW_OP_abs, unary},
    {DW_OP_and, DW_OP_and, binary},
    {DW_OP_div, DW_OP_mul, binary}, /* div, minus, mod, mul */
    {DW_OP_neg, DW_OP_not, unary},
    {DW_OP_or, DW_OP_plus, binary},
    {DW_OP_shl, DW_OP_xor, binary}, /* shl, shr, shra, xor */
    {DW_OP_bra, DW_OP_bra, branch},
    {DW_OP_eq, DW_OP_ne, compare}, /* eq, ge, gt, le, lt, ne */
    {DW_OP_skip, DW_OP_skip, jump},
    {DW_OP_bregx, DW_OP_bregx, base_wide},
    {DW_OP_deref_size, DW_OP_deref_size, deref_size},
    {DW_OP_reg0, DW_OP_reg31, in_low_reg},
    {DW_OP_regx, DW_OP_regx, in_reg},
    {DW_OP_stack_value, DW_OP_stack_value, is_value},
    {DW_OP_nop, DW_OP_nop, nothing},
};

static void run_one(struct run *r)
{
	r->op = &r->ops[r->next++];
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (r->op->atom < table[i].from || r->op->atom > table[i].to)
			continue;
		table[i].run(r);
		return;
	}
	fail(r);
}

int unwind_expr(const struct unwind_frame *f, uint64_t cfa, const Dwarf_Op *ops, size_t nr,
		enum unwind_place *place, uint64_t *out)
{
	struct run r = {.frame = f,
			.cfa = cfa,
			.end = UNWIND_GOES_ON,
			.place = UNWIND_PLACE_STACK,
			.ops = ops,
			.nr = nr};
	uint64_t v;

	for (unsigned steps = 0; r.next < nr && r.end == UNWIND_GOES_ON; steps++) {
		if (steps == MAX_STEPS || nr > MAX_OPS)
			fail(&r);
		else
			run_one(&r);
	}
	if (r.end == UNWIND_GOES_ON) {
		v = pop(&r);
		if (r.end == UNWIND_GOES_ON) {
			*place = r.place;
			*out = v;
		}
	}
	return r.end;
}
