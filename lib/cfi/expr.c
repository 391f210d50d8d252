/*
 * A stack machine. Fails at operations that unwind tables cannot contain.
 */
#include "cfi/expr.h"

#include "cfi/bytes.h"

#include <dwarf.h>

enum { MAX_DEPTH = 64, MAX_STEPS = 1000 };

struct run {
	const struct cfi_frame *frame;
	uint64_t value[MAX_DEPTH];
	unsigned depth;
	enum cfi_end end;
	struct cursor c;
	const struct cfi_expr *expr;
};

static void fail(struct run *r)
{
	r->end = CFI_INVALID;
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

/* i: from the top. */
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

	if (number == r->frame->machine->ra && r->frame->machine->lr == CFI_NO_REG)
		push(r, r->frame->pc + offset); /* this column is the program counter */
	else if (cfi_frame_reg(r->frame, number, &v))
		push(r, v + offset);
	else
		fail(r);
}

static void load(struct run *r, uint64_t bytes)
{
	uint64_t v = 0, mask = bytes < sizeof(v) ? (1ull << bytes * 8) - 1 : UINT64_MAX;
	enum cfi_end end = cfi_frame_word(r->frame, pop(r), &v);

	if (!bytes || bytes > r->frame->machine->word_bytes)
		fail(r);
	if (r->end == CFI_GOES_ON)
		r->end = end;
	push(r, v & mask);
}

/* Comparisons and DW_OP_div are signed. */
static uint64_t binary(struct run *r, uint8_t op, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case DW_OP_eq:
		return x == y;
	case DW_OP_ne:
		return x != y;
	case DW_OP_lt:
		return x < y;
	case DW_OP_le:
		return x <= y;
	case DW_OP_gt:
		return x > y;
	case DW_OP_ge:
		return x >= y;
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
		if (y && !(x == INT64_MIN && y == -1)) /* the CPU would trap */
			return (uint64_t)(x / y);
		fail(r);
		return 0;
	case DW_OP_mod:
		if (b)
			return a % b;
		fail(r);
		return 0;
	case DW_OP_shl:
		return b > 63 ? 0 : a << b;
	case DW_OP_shr:
		return b > 63 ? 0 : a >> b;
	default: /* DW_OP_shra */
		return (uint64_t)(x >> (b > 63 ? 63 : b));
	}
}

/* The offset counts from the end of the jump. A truncated operand does not jump. */
static void jump(struct run *r, bool is_taken)
{
	uint64_t by = (uint64_t)(int16_t)cursor_le16(&r->c);
	uint64_t at = (uint64_t)(r->c.at - r->expr->bytes) + by;

	if (!is_taken || !cursor_ok(&r->c))
		return;
	cursor_init(&r->c, r->expr->bytes, r->expr->len);
	cursor_skip(&r->c, at);
}

static void run_one(struct run *r)
{
	struct cursor *c = &r->c;
	uint8_t op = cursor_u8(c);
	uint64_t v, w, u;

	switch (op) {
	case DW_OP_breg0 ... DW_OP_breg31:
		push_reg(r, (uint64_t)op - DW_OP_breg0, (uint64_t)cfi_sleb(c));
		break;
	case DW_OP_bregx:
		v = cfi_uleb(c);
		push_reg(r, v, (uint64_t)cfi_sleb(c));
		break;
	case DW_OP_lit0 ... DW_OP_lit31:
		push(r, (uint64_t)op - DW_OP_lit0);
		break;
	case DW_OP_const1u:
		push(r, cursor_u8(c));
		break;
	case DW_OP_const1s:
		push(r, (uint64_t)(int8_t)cursor_u8(c));
		break;
	case DW_OP_const2u:
		push(r, cursor_le16(c));
		break;
	case DW_OP_const2s:
		push(r, (uint64_t)(int16_t)cursor_le16(c));
		break;
	case DW_OP_const4u:
		push(r, cursor_le32(c));
		break;
	case DW_OP_const4s:
		push(r, (uint64_t)(int32_t)cursor_le32(c));
		break;
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(r, cursor_le64(c));
		break;
	case DW_OP_constu:
		push(r, cfi_uleb(c));
		break;
	case DW_OP_consts:
		push(r, (uint64_t)cfi_sleb(c));
		break;
	case DW_OP_plus_uconst:
		push(r, pop(r) + cfi_uleb(c));
		break;
	case DW_OP_deref:
		load(r, r->frame->machine->word_bytes);
		break;
	case DW_OP_deref_size:
		load(r, cursor_u8(c));
		break;
	case DW_OP_dup:
		pick(r, 0);
		break;
	case DW_OP_over:
		pick(r, 1);
		break;
	case DW_OP_pick:
		pick(r, cursor_u8(c));
		break;
	case DW_OP_drop:
		pop(r);
		break;
	case DW_OP_swap:
		v = pop(r);
		w = pop(r);
		push(r, v);
		push(r, w);
		break;
	case DW_OP_rot:
		v = pop(r);
		w = pop(r);
		u = pop(r);
		push(r, v);
		push(r, u);
		push(r, w);
		break;
	case DW_OP_abs:
		v = pop(r);
		push(r, (int64_t)v < 0 ? -v : v);
		break;
	case DW_OP_neg:
		push(r, -pop(r));
		break;
	case DW_OP_not:
		push(r, ~pop(r));
		break;
	case DW_OP_and ... DW_OP_mul: /* and, div, minus, mod, mul */
	case DW_OP_or ... DW_OP_plus:
	case DW_OP_shl ... DW_OP_xor: /* shl, shr, shra, xor */
	case DW_OP_eq ... DW_OP_ne:   /* eq, ge, gt, le, lt, ne */
		w = pop(r);
		v = pop(r);
		push(r, binary(r, op, v, w));
		break;
	case DW_OP_skip:
		jump(r, true);
		break;
	case DW_OP_bra:
		jump(r, pop(r));
		break;
	case DW_OP_nop:
		break;
	default:
		fail(r);
	}
	if (!cursor_ok(c))
		fail(r);
}

enum cfi_end cfi_expr_run(const struct cfi_expr *e, const struct cfi_frame *f, const uint64_t *cfa,
			  uint64_t *out)
{
	struct run r = {.frame = f, .end = CFI_GOES_ON, .expr = e};
	uint64_t v;

	if (cfa)
		push(&r, *cfa);
	cursor_init(&r.c, e->bytes, e->len);
	for (unsigned steps = 0; r.c.left && r.end == CFI_GOES_ON; steps++) {
		if (steps == MAX_STEPS)
			fail(&r);
		else
			run_one(&r);
	}
	v = r.end == CFI_GOES_ON ? pop(&r) : 0;
	if (r.end == CFI_GOES_ON)
		*out = v;
	return r.end;
}
