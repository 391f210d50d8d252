/*
 * A machine of one stack. An operation is a row of a table by its code; those that unwind tables
 * cannot have (of types, of objects, of other threads …) have none, and end it.
 */
#include "unwind/expr.h"

#include "unwind/bytes.h"

#include <dwarf.h>

enum { MAX_DEPTH = 64, MAX_STEPS = 1000, WORD_BYTES = 8 };

struct run {
	const struct unwind_frame *frame;
	uint64_t value[MAX_DEPTH];
	unsigned depth;
	int end;       /* UNWIND_GOES_ON, or why it ended */
	uint8_t op;    /* the present one */
	uint64_t a, b; /* its operands */
	struct cursor c;
	const struct unwind_expr *expr;
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
	push(r, r->a);
}

static void literal(struct run *r)
{
	push(r, (uint64_t)r->op - DW_OP_lit0);
}

static void base(struct run *r)
{
	push_reg(r, (uint64_t)r->op - DW_OP_breg0, r->a);
}

static void base_wide(struct run *r)
{
	push_reg(r, r->a, r->b);
}

static void deref(struct run *r)
{
	load(r, WORD_BYTES);
}

static void deref_size(struct run *r)
{
	load(r, r->a);
}

static void plus_constant(struct run *r)
{
	push(r, pop(r) + r->a);
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
	pick(r, r->a);
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

	switch (r->op) {
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
	switch (r->op) {
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
	uint8_t op = r->op;

	push(r, (op == DW_OP_eq && a == b) || (op == DW_OP_ne && a != b) ||
		    (op == DW_OP_lt && a < b) || (op == DW_OP_le && a <= b) ||
		    (op == DW_OP_gt && a > b) || (op == DW_OP_ge && a >= b));
}

/* The offset counts from behind the jump. */
static void jump(struct run *r)
{
	uint64_t at = (uint64_t)(r->c.at - r->expr->bytes) + r->a;

	cursor_init(&r->c, r->expr->bytes, r->expr->len);
	cursor_skip(&r->c, at);
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

enum operand { NONE, U8, S8, U16, S16, U32, S32, U64, ULEB, SLEB };

static const struct row {
	uint8_t from, to; /* codes */
	uint8_t a, b;     /* enum operand */
	void (*run)(struct run *r);
} table[] = {
    {DW_OP_breg0, DW_OP_breg31, SLEB, NONE, base},
    {DW_OP_plus_uconst, DW_OP_plus_uconst, ULEB, NONE, plus_constant},
    {DW_OP_deref, DW_OP_deref, NONE, NONE, deref},
    {DW_OP_lit0, DW_OP_lit31, NONE, NONE, literal},
    {DW_OP_const1u, DW_OP_const1u, U8, NONE, constant},
    {DW_OP_const1s, DW_OP_const1s, S8, NONE, constant},
    {DW_OP_const2u, DW_OP_const2u, U16, NONE, constant},
    {DW_OP_const2s, DW_OP_const2s, S16, NONE, constant},
    {DW_OP_const4u, DW_OP_const4u, U32, NONE, constant},
    {DW_OP_const4s, DW_OP_const4s, S32, NONE, constant},
    {DW_OP_const8u, DW_OP_const8s, U64, NONE, constant},
    {DW_OP_constu, DW_OP_constu, ULEB, NONE, constant},
    {DW_OP_consts, DW_OP_consts, SLEB, NONE, constant},
    {DW_OP_dup, DW_OP_dup, NONE, NONE, dup_top},
    {DW_OP_drop, DW_OP_drop, NONE, NONE, drop},
    {DW_OP_over, DW_OP_over, NONE, NONE, over},
    {DW_OP_pick, DW_OP_pick, U8, NONE, pick_any},
    {DW_OP_swap, DW_OP_swap, NONE, NONE, swap},
    {DW_OP_rot, DW_OP_rot, NONE, NONE, rotate},
    {DW_OP_abs, DW_OP_abs, NONE, NONE, unary},
    {DW_OP_and, DW_OP_mul, NONE, NONE, binary}, /* and, div, minus, mod, mul */
    {DW_OP_neg, DW_OP_not, NONE, NONE, unary},
    {DW_OP_or, DW_OP_plus, NONE, NONE, binary},
    {DW_OP_shl, DW_OP_xor, NONE, NONE, binary}, /* shl, shr, shra, xor */
    {DW_OP_bra, DW_OP_bra, S16, NONE, branch},
    {DW_OP_eq, DW_OP_ne, NONE, NONE, compare}, /* eq, ge, gt, le, lt, ne */
    {DW_OP_skip, DW_OP_skip, S16, NONE, jump},
    {DW_OP_bregx, DW_OP_bregx, ULEB, SLEB, base_wide},
    {DW_OP_deref_size, DW_OP_deref_size, U8, NONE, deref_size},
    {DW_OP_nop, DW_OP_nop, NONE, NONE, nothing},
};

static uint64_t operand(struct cursor *c, uint8_t kind)
{
	switch (kind) {
	case U8:
		return cursor_u8(c);
	case S8:
		return (uint64_t)(int8_t)cursor_u8(c);
	case U16:
		return cursor_le16(c);
	case S16:
		return (uint64_t)(int16_t)cursor_le16(c);
	case U32:
		return cursor_le32(c);
	case S32:
		return (uint64_t)(int32_t)cursor_le32(c);
	case U64:
		return cursor_le64(c);
	case ULEB:
		return unwind_uleb(c);
	case SLEB:
		return (uint64_t)unwind_sleb(c);
	default:
		return 0;
	}
}

static const struct row *find_op(uint8_t op)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (op >= table[i].from && op <= table[i].to)
			return &table[i];
	return NULL;
}

static void run_one(struct run *r)
{
	const struct row *row;

	r->op = cursor_u8(&r->c);
	row = find_op(r->op);
	if (!row) {
		fail(r);
		return;
	}
	r->a = operand(&r->c, row->a);
	r->b = operand(&r->c, row->b);
	if (cursor_ok(&r->c))
		row->run(r);
	if (!cursor_ok(&r->c))
		fail(r);
}

int unwind_expr_run(const struct unwind_expr *e, const struct unwind_frame *f, const uint64_t *cfa,
		    uint64_t *out)
{
	struct run r = {.frame = f, .end = UNWIND_GOES_ON, .expr = e};
	uint64_t v;

	if (cfa)
		push(&r, *cfa);
	cursor_init(&r.c, e->bytes, e->len);
	for (unsigned steps = 0; r.c.left && r.end == UNWIND_GOES_ON; steps++) {
		if (steps == MAX_STEPS)
			fail(&r);
		else
			run_one(&r);
	}
	v = r.end == UNWIND_GOES_ON ? pop(&r) : 0;
	if (r.end == UNWIND_GOES_ON)
		*out = v;
	return r.end;
}
