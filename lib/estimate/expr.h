/*
 * Expressions over measured numbers: parsed into steps of a stack machine, and evaluated. A
 * callback resolves operands.
 */
#ifndef ESTIMATE_EXPR_H
#define ESTIMATE_EXPR_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct err;

enum {
	EXPR_MAX_STEPS = 128,
	EXPR_MAX_DEPTH = 32, /* of nested brackets and signs */
};

enum expr_op {
	EXPR_NUMBER,
	EXPR_DURATION, /* the seconds that were measured */
	EXPR_OPERAND,
	EXPR_NEGATE,
	EXPR_ADD,
	EXPR_SUBTRACT,
	EXPR_MULTIPLY,
	EXPR_DIVIDE,
};

/* Pushes a number, or pops one or two and pushes the result. */
struct expr_step {
	enum expr_op op;
	double number; /* EXPR_NUMBER */
	/* EXPR_OPERAND: */
	const char *name; /* the text in braces; in the arena */
	size_t offset;    /* of its first byte in the text */
	size_t operand;   /* an index that the caller sets; 0 after expr_parse */
};

struct expr {
	struct expr_step *steps; /* in the arena, in the order of evaluation */
	size_t nr_steps;
};

/*
 *   sum     = product { ("+" | "-") product }
 *   product = factor { ("*" | "/") factor }
 *   factor  = "-" factor | "(" sum ")" | "{" name "}" | number | "duration"
 *   number  = digits [ "." digits ] [ ("e" | "E") [ "+" | "-" ] digits ]
 * Blanks may stand between tokens. A name is any text without braces. A number has at most 15
 * digits as an integer times a power of ten from -22 to 22, so that its double is the nearest. 0;
 * -EINVAL with *e and *offset, the offending byte of the text; -ENOMEM with *e.
 */
int expr_parse(const char *text, struct arena *arena, struct expr *out, size_t *offset,
	       struct err *e);

/* Sets *value to the operand's value; false: it has none. */
typedef bool expr_get_fn(const struct expr_step *operand, const void *arg, double *value);

/* False if an operand has no value, or if a step has no finite result (a division by zero). */
bool expr_evaluate(const struct expr *x, double duration_s, expr_get_fn *get, const void *arg,
		   double *out);

#endif
