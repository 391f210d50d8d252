/*
 * Expressions: what they come to, by hand; what has no result; and where each error is.
 */
#include "kit.h"

#include "base/arena.h"
#include "base/buf.h"
#include "estimate/expr.h"

#include <math.h>

enum { ARENA_BYTES = 1 << 20 };

/* a is 10, b 4, zero 0, huge 1e300; the others were not measured. */
static bool get(const struct expr_step *operand, const void *arg, double *value)
{
	static const struct {
		const char *name;
		double value;
	} known[] = {{"a", 10},       {"b", 4},   {"zero", 0},
		     {"huge", 1e300}, {"g:n", 3}, {"l, \"x\"", 7}};

	assert_null(arg);
	for (size_t i = 0; i < NR(known); i++) {
		*value = known[i].value;
		if (strcmp(operand->name, known[i].name) == 0)
			return true;
	}
	return false;
}

static bool evaluate(const char *text, double *out)
{
	size_t offset = 77;
	struct arena arena;
	struct err e = {0};
	struct expr x;
	bool has;

	arena_init(&arena, ARENA_BYTES);
	if (expr_parse(text, &arena, &x, &offset, &e))
		fail_msg("%s: %s at %zu", text, e.msg, offset);
	has = expr_evaluate(&x, 2.5, get, NULL, out);
	arena_fini(&arena);
	return has;
}

TEST(known_values)
{
	static const struct {
		const char *text;
		double value;
	} rows[] = {
	    {"1", 1},
	    {" 1 ", 1},
	    {"{a}", 10},
	    {"{a}/{b}", 2.5},
	    {"{g:n}", 3},
	    {"{l, \"x\"}", 7},
	    {"duration", 2.5},
	    {"{a} / duration", 4},
	    /* precedence, and from the left to the right */
	    {"1 + 2 * 3", 7},
	    {"2 * 3 + 1", 7},
	    {"(1 + 2) * 3", 9},
	    {"10 - 4 - 3", 3},
	    {"10 - (4 - 3)", 9},
	    {"100 / 10 / 2", 5},
	    {"100 / (10 / 2)", 20},
	    {"2 * 3 / 4 * 5", 7.5},
	    {"1 - 2 / 4 + 3 * 2", 6.5},
	    {"-1", -1},
	    {"--1", 1},
	    {"-{a} + 1", -9},
	    {"2 * -3", -6},
	    {"2 - -3", 5},
	    {"-(1 + 2)", -3},
	    {"-2 * -{b}", 8},
	    {"((((({b})))))", 4},
	    {"100 * (1 - {b} / {a})", 60},
	    {"{zero}", 0},
	    {"{zero} / {a}", 0},
	    {"\t1\n+\r1 ", 2},
	    /* numbers: as strtod has them */
	    {"0", 0},
	    {"007", 7},
	    {"0.1", 0.1},
	    {"0.3", 0.3},
	    {"1.10", 1.1},
	    {"123456.789", 123456.789},
	    {"999999999999999", 999999999999999},
	    {"0.999999999999999", 0.999999999999999},
	    {"1e9", 1e9},
	    {"1E+3", 1000},
	    {"2.5e-3", 2.5e-3},
	    {"1e22", 1e22},
	    {"1e-22", 1e-22},
	    {"9.007199e15", 9.007199e15},
	    {"0.0000000000000000000001", 1e-22},
	    {"0e99999999999999999999", 0},
	    {"0.00000000000000000000000000000000000000", 0},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		double x = -1;

		if (!evaluate(rows[i].text, &x) || x != rows[i].value)
			fail_msg("%s: %.17g", rows[i].text, x);
	}
}

TEST(numbers_agree_with_strtod)
{
	srand(1);
	for (int i = 0; i < 5000; i++) {
		char text[64];
		double x = -1;

		snprintf(text, sizeof(text), "%d.%06de%d", rand() % 1000000, rand() % 1000000,
			 rand() % 33 - 16);
		assert_true(evaluate(text, &x));
		if (x != strtod(text, NULL))
			fail_msg("%s: %.17g", text, x);
	}
}

TEST(no_result)
{
	static const char *const rows[] = {
	    "{unknown}",
	    "1 + {unknown}",
	    "0 * {unknown}",
	    "{a} / {zero}",
	    "{zero} / {zero}",
	    "1 / 0",
	    "1 / (1 / 0)",
	    "0 * (1 / 0)",
	    "1 / ({a} - 10)",
	    "{huge} * {huge}",
	    "1 / ({huge} * 1e9)",
	    "-{huge} * 1e10",
	    "{a} / (duration - 2.5)",
	};

	for (size_t i = 0; i < NR(rows); i++) {
		double x = 55;

		if (evaluate(rows[i], &x))
			fail_msg("%s: %g", rows[i], x);
		assert_true(x == 55);
	}
}

TEST(places_of_operands)
{
	size_t offset;
	struct arena arena;
	struct err e = {0};
	struct expr x;

	arena_init(&arena, ARENA_BYTES);
	assert_int_equal(expr_parse("2*{a:b} - { c }", &arena, &x, &offset, &e), 0);
	assert_int_equal(x.nr_steps, 5);
	assert_int_equal(x.steps[1].op, EXPR_OPERAND);
	assert_string_equal(x.steps[1].name, "a:b");
	assert_int_equal(x.steps[1].offset, 3);
	assert_string_equal(x.steps[3].name, " c ");
	assert_int_equal(x.steps[3].offset, 11);
	assert_int_equal(x.steps[3].operand, 0);
	assert_int_equal(x.steps[4].op, EXPR_SUBTRACT);
	arena_fini(&arena);
}

TEST(errors_and_their_places)
{
	static const struct {
		const char *text;
		size_t offset;
		const char *part;
	} rows[] = {
	    {"", 0, "incomplete: a number or an event in braces must follow"},
	    {"  ", 2, "incomplete: a number or an event in braces must follow"},
	    {"1 +", 3, "incomplete: a number or an event in braces must follow"},
	    {"1 + ", 4, "incomplete: a number or an event in braces must follow"},
	    {"-", 1, "incomplete: a number or an event in braces must follow"},
	    {"(", 1, "incomplete: a number or an event in braces must follow"},
	    {"()", 1, "a number, an event in braces"},
	    {"* 2", 0, "a number, an event in braces"},
	    {"1 + / 2", 4, "a number, an event in braces"},
	    {"+1", 0, "a number, an event in braces"},
	    {".5", 0, "a number, an event in braces"},
	    {"$", 0, "a number, an event in braces"},
	    {"\xc3\xa4", 0, "a number, an event in braces"},
	    {"}", 0, "a number, an event in braces"},
	    {"1 2", 2, "is expected here"},
	    {"{a} {b}", 4, "is expected here"},
	    {"{a}}", 3, "is expected here"},
	    {"1.2.3", 3, "is expected here"},
	    {"1 % 2", 2, "is expected here"},
	    {"2(3)", 1, "is expected here"},
	    {"duration duration", 9, "is expected here"},
	    {"1)", 1, "a \")\" without"},
	    {"(1", 0, "a \"(\" without"},
	    {"1 + (2 * (3)", 4, "a \"(\" without"},
	    {"(1 2)", 3, "or a \")\""},
	    {"({a}]", 4, "or a \")\""},
	    {"{a", 0, "a \"{\" without"},
	    {"1 + {a{b}}", 4, "a \"{\" without"},
	    {"1 + {}", 4, "no event between the braces"},
	    {"a:b / 2", 0, "unknown word \"a:b\""},
	    {"1 * durations", 4, "unknown word \"durations\""},
	    {"1 * Duration", 4, "unknown word \"Duration\""},
	    {"1 * dura", 4, "unknown word \"dura\""},
	    {"_x", 0, "unknown word \"_x\""},
	    {"1.", 2, "a digit"},
	    {"1.e3", 2, "a digit"},
	    {"1e", 2, "a digit"},
	    {"1e+", 3, "a digit"},
	    {"1e-x", 3, "a digit"},
	    {"0x10", 1, "is expected here"},
	    {"1 + 1234567890123456", 4, "more than 15 digits"},
	    {"1.000000000000000", 0, "more than 15 digits"},
	    {"99999999999999999999999999999999999999999999", 0, "more than 15 digits"},
	    {"2 * 1e23", 4, "too large or too small"},
	    {"1e-23", 0, "too large or too small"},
	    {"1e99999999999999999999", 0, "too large or too small"},
	    {"0.00000000000000000000001", 0, "too large or too small"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		size_t offset = 77;
		struct arena arena;
		struct err e = {0};
		struct expr x = {.nr_steps = 77};

		arena_init(&arena, ARENA_BYTES);
		assert_int_equal(expr_parse(rows[i].text, &arena, &x, &offset, &e), -EINVAL);
		if (offset != rows[i].offset || !strstr(e.msg, rows[i].part))
			fail_msg("%s: %s at %zu", rows[i].text, e.msg, offset);
		assert_int_equal(x.nr_steps, 77);
		arena_fini(&arena);
	}
}

TEST(a_word_has_a_hint)
{
	size_t offset;
	struct arena arena;
	struct err e = {0};
	struct expr x;

	arena_init(&arena, ARENA_BYTES);
	assert_int_equal(expr_parse("fixed:cycles / 2", &arena, &x, &offset, &e), -EINVAL);
	assert_non_null(strstr(e.hint, "{fixed:cycles}"));
	arena_fini(&arena);
}

/* nr times the text of a, then b, then nr times c. */
static int parse_many(const char *a, const char *b, const char *c, size_t nr, struct err *e)
{
	struct buf text;
	size_t offset;
	struct arena arena;
	struct expr x;
	double out;
	int rc;

	buf_init(&text, 1 << 20);
	for (size_t i = 0; i < nr; i++)
		buf_adds(&text, a);
	buf_adds(&text, b);
	for (size_t i = 0; i < nr; i++)
		buf_adds(&text, c);
	arena_init(&arena, ARENA_BYTES);
	rc = expr_parse(buf_str(&text), &arena, &x, &offset, e);
	if (rc == 0)
		assert_true(expr_evaluate(&x, 1, get, NULL, &out));
	arena_fini(&arena);
	buf_fini(&text);
	return rc;
}

TEST(ceilings)
{
	static const struct {
		const char *a, *b, *c;
		size_t nr;
		int rc;
		const char *part;
	} rows[] = {
	    {"(", "1", ")", EXPR_MAX_DEPTH - 1, 0, ""},
	    {"(", "1", ")", EXPR_MAX_DEPTH, -EINVAL, "more than 32 nested parentheses and signs"},
	    {"(", "1", ")", 100000, -EINVAL, "more than 32 nested parentheses and signs"},
	    {"-", "1", "", EXPR_MAX_DEPTH - 1, 0, ""},
	    {"-", "1", "", 100000, -EINVAL, "more than 32 nested parentheses and signs"},
	    {"-(", "1", ")", EXPR_MAX_DEPTH / 2, -EINVAL,
	     "more than 32 nested parentheses and signs"},
	    {"", "1", "+1", (EXPR_MAX_STEPS - 1) / 2, 0, ""},
	    {"", "1", "+1", EXPR_MAX_STEPS / 2, -EINVAL, "too long"},
	    {"", "1", "*{a}", 1000, -EINVAL, "too long"},
	    {"1+(", "1", ")", EXPR_MAX_DEPTH - 1, 0, ""}, /* all numbers wait on the stack */
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct err e = {0};
		int rc = parse_many(rows[i].a, rows[i].b, rows[i].c, rows[i].nr, &e);

		if (rc != rows[i].rc || !strstr(e.msg, rows[i].part))
			fail_msg("row %zu: %d, %s", i, rc, e.msg);
	}
}

static int parse_one(void *arg)
{
	struct expr x = {.nr_steps = 77};
	size_t offset;
	struct arena arena;
	struct err e = {0};
	int rc;

	(void)arg;
	arena_init(&arena, 1 << 16);
	rc = expr_parse("{a} / {b}", &arena, &x, &offset, &e);
	assert_int_equal(e.code, rc);
	assert_int_equal(x.nr_steps, rc ? 77 : 3);
	arena_fini(&arena);
	return rc;
}

TEST(without_memory)
{
	struct arena arena;
	struct err e = {0};
	size_t offset;
	struct expr x;

	inject_every(parse_one, NULL, 1, 0);
	arena_init(&arena, 40); /* enough for a name, not for the steps */
	assert_int_equal(expr_parse("{a} / {b}", &arena, &x, &offset, &e), -ENOMEM);
	arena_fini(&arena);
}
