/*
 * The parser has a function per rule, and adds a step after those of its operands, so that steps
 * are in the order of the calculation. Independent of the locale; a number is rounded once.
 */
#include "estimate/expr.h"

#include "base/arena.h"
#include "base/err.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define MAX_MANTISSA 999999999999999ull /* and all below are doubles */
enum { MAX_POWER = 22, MANY = 10000 };

struct parser {
	const char *text, *at;
	struct arena *arena;
	size_t *offset;
	struct err *e;
	unsigned depth;
	size_t nr_steps;
	struct expr_step steps[EXPR_MAX_STEPS];
};

static int fail(struct parser *p, const char *at, const char *what)
{
	*p->offset = (size_t)(at - p->text);
	return err_set(p->e, -EINVAL, "%s", what);
}

static char next(struct parser *p)
{
	p->at += strspn(p->at, " \t\r\n");
	return *p->at;
}

static int add_step(struct parser *p, const struct expr_step *step)
{
	if (p->nr_steps == EXPR_MAX_STEPS)
		return fail(p, p->at, "too long: more than 128 numbers, events and operations");
	p->steps[p->nr_steps++] = *step;
	return 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Appends digits to *n, which stops growing above MAX_MANTISSA. */
static int take_digits(struct parser *p, uint64_t *n, int *nr)
{
	if (!is_digit(*p->at))
		return fail(p, p->at, "a digit is expected here");
	for (*nr = 0; is_digit(*p->at); p->at++) {
		if (*n <= MAX_MANTISSA)
			*n = *n * 10 + (uint64_t)(*p->at - '0');
		*nr += *nr < MANY;
	}
	return 0;
}

static int take_exponent(struct parser *p, int *exponent)
{
	bool is_negative = p->at[0] == '-';
	uint64_t n = 0;
	int nr, rc;

	p->at += *p->at == '-' || *p->at == '+';
	rc = take_digits(p, &n, &nr);
	if (rc)
		return rc;
	n = n < MANY ? n : MANY;
	*exponent += is_negative ? -(int)n : (int)n;
	return 0;
}

/* An integer times a power of ten; both are doubles, so that the result is rounded once. */
static int take_decimal(struct parser *p, uint64_t *mantissa, int *exponent)
{
	int nr = 0, rc = take_digits(p, mantissa, &nr);

	if (rc == 0 && *p->at == '.') {
		p->at++;
		rc = take_digits(p, mantissa, &nr);
		*exponent = -nr;
	}
	if (rc == 0 && (*p->at == 'e' || *p->at == 'E')) {
		p->at++;
		rc = take_exponent(p, exponent);
	}
	return rc;
}

static int parse_number(struct parser *p)
{
	static const double powers[MAX_POWER + 1] = {
	    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
	    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
	};
	struct expr_step step = {.op = EXPR_NUMBER};
	const char *start = p->at;
	uint64_t mantissa = 0;
	int exponent = 0, rc = take_decimal(p, &mantissa, &exponent);

	if (rc)
		return rc;
	if (mantissa > MAX_MANTISSA)
		return fail(p, start, "a number of more than 15 digits");
	if (mantissa && (exponent > MAX_POWER || exponent < -MAX_POWER))
		return fail(p, start, "a number that is too large or too small");
	step.number = (double)mantissa;
	if (mantissa)
		step.number =
		    exponent < 0 ? step.number / powers[-exponent] : step.number * powers[exponent];
	return add_step(p, &step);
}

static int parse_word(struct parser *p)
{
	static const char word[] = "duration";
	size_t len =
	    strspn(p->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.");

	if (len != strlen(word) || strncmp(p->at, word, len) != 0) {
		*p->offset = (size_t)(p->at - p->text);
		err_set(p->e, -EINVAL, "unknown word \"%.*s\"", (int)len, p->at);
		err_hint(p->e, "write events in braces: {%.*s}; duration is the time in seconds",
			 (int)len, p->at);
		return -EINVAL;
	}
	p->at += len;
	return add_step(p, &(struct expr_step){.op = EXPR_DURATION});
}

static int parse_operand(struct parser *p)
{
	const char *brace = p->at++;
	size_t len = strcspn(p->at, "{}");
	struct expr_step step = {.op = EXPR_OPERAND, .offset = (size_t)(p->at - p->text)};

	if (p->at[len] != '}')
		return fail(p, brace, "a \"{\" without its \"}\"");
	if (len == 0)
		return fail(p, brace, "no event between the braces");
	step.name = arena_strndup(p->arena, p->at, len);
	if (!step.name)
		return err_set(p->e, -ENOMEM, "out of memory");
	p->at += len + 1;
	return add_step(p, &step);
}

static int parse_sum(struct parser *p);

static int parse_bracket(struct parser *p)
{
	const char *bracket = p->at++;
	int rc = parse_sum(p);

	if (rc)
		return rc;
	if (next(p) == '\0')
		return fail(p, bracket, "a \"(\" without its \")\"");
	if (*p->at != ')')
		return fail(p, p->at, "an operator (+ - * /) or a \")\" is expected here");
	p->at++;
	return 0;
}

static int parse_factor(struct parser *p);

static int parse_one(struct parser *p)
{
	char c = next(p);

	if (c == '(')
		return parse_bracket(p);
	if (c == '-') {
		p->at++;
		return parse_factor(p) ?: add_step(p, &(struct expr_step){.op = EXPR_NEGATE});
	}
	if (c == '{')
		return parse_operand(p);
	if (is_digit(c))
		return parse_number(p);
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_')
		return parse_word(p);
	return fail(
	    p, p->at,
	    c ? "a number, an event in braces, duration, a \"(\" or a \"-\" is expected here"
	      : "incomplete: a number or an event in braces must follow");
}

static int parse_factor(struct parser *p)
{
	int rc;

	if (p->depth == EXPR_MAX_DEPTH)
		return fail(p, p->at, "more than 32 nested parentheses and signs");
	p->depth++;
	rc = parse_one(p);
	p->depth--;
	return rc;
}

static const struct operation {
	char sign;
	enum expr_op op;
	bool is_product;
} operations[] = {
    {'+', EXPR_ADD, false},
    {'-', EXPR_SUBTRACT, false},
    {'*', EXPR_MULTIPLY, true},
    {'/', EXPR_DIVIDE, true},
};

/* Reads the operator at the cursor. NULL: none of this precedence. */
static const struct operation *next_operation(struct parser *p, bool is_product)
{
	char c = next(p);

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		if (c != operations[i].sign || operations[i].is_product != is_product)
			continue;
		p->at++;
		return &operations[i];
	}
	return NULL;
}

/* Left-associative. */
static int parse_chain(struct parser *p, bool is_product, int (*parse)(struct parser *p))
{
	const struct operation *o;
	int rc = parse(p);

	while (rc == 0 && (o = next_operation(p, is_product)))
		rc = parse(p) ?: add_step(p, &(struct expr_step){.op = o->op});
	return rc;
}

static int parse_product(struct parser *p)
{
	return parse_chain(p, true, parse_factor);
}

static int parse_sum(struct parser *p)
{
	return parse_chain(p, false, parse_product);
}

static int parse_all(struct parser *p)
{
	int rc = parse_sum(p);

	if (rc || next(p) == '\0')
		return rc;
	return fail(p, p->at,
		    *p->at == ')' ? "a \")\" without its \"(\""
				  : "an operator is expected here: + - * or /");
}

int expr_parse(const char *text, struct arena *arena, struct expr *out, size_t *offset,
	       struct err *e)
{
	struct parser p = {.text = text, .at = text, .arena = arena, .offset = offset, .e = e};
	struct expr_step *steps;
	int rc = parse_all(&p);

	if (rc)
		return rc;
	steps = arena_calloc(arena, p.nr_steps, sizeof(*steps));
	if (!steps)
		return err_set(e, -ENOMEM, "out of memory");
	memcpy(steps, p.steps, p.nr_steps * sizeof(*steps));
	*out = (struct expr){steps, p.nr_steps};
	return 0;
}

static double apply(enum expr_op op, double a, double b)
{
	switch (op) {
	case EXPR_ADD:
		return a + b;
	case EXPR_SUBTRACT:
		return a - b;
	case EXPR_MULTIPLY:
		return a * b;
	default:
		return a / b;
	}
}

struct run {
	double duration_s;
	expr_get_fn *get;
	const void *arg;
	double stack[EXPR_MAX_STEPS];
	size_t nr;
};

static bool do_step(struct run *r, const struct expr_step *step)
{
	double *top = &r->stack[r->nr]; /* past the last number */

	if (step->op <= EXPR_OPERAND) {
		r->nr++;
		if (step->op == EXPR_OPERAND)
			return r->get(step, r->arg, top);
		*top = step->op == EXPR_NUMBER ? step->number : r->duration_s;
		return true;
	}
	if (step->op == EXPR_NEGATE) {
		top[-1] = -top[-1];
		return true;
	}
	r->nr--;
	top[-2] = apply(step->op, top[-2], top[-1]);
	return true;
}

bool expr_evaluate(const struct expr *x, double duration_s, expr_get_fn *get, const void *arg,
		   double *out)
{
	struct run r = {.duration_s = duration_s, .get = get, .arg = arg};

	for (size_t i = 0; i < x->nr_steps; i++) /* each result: 1 / (1 / 0) would be 0 */
		if (!do_step(&r, &x->steps[i]) || !isfinite(r.stack[r.nr - 1]))
			return false;
	*out = r.stack[0];
	return true;
}
