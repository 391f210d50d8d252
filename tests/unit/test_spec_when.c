/* Conditions on calls: which words of a value they mean, and what is refused, at which byte. */
#include "kit.h"

#include "base/err.h"
#include "spec/when.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_meant(const struct spec_when_range *r, uint64_t word)
{
	return word - r->low <= r->span;
}

/* Words that a comparison means, and some at its border that it does not, of a type. */
TEST(ranges)
{
	static const struct {
		const char *text;
		uint32_t bytes;
		bool is_signed;
		size_t nr, nr_not;
		int64_t is[4], is_not[4];
	} cases[] = {
	    {"a>5", 8, false, 3, 3, {6, 7, -1}, {5, 4, 0}},
	    {"a >= 5", 4, false, 3, 2, {5, 6, UINT32_MAX}, {4, 0}},
	    {"a<5", 4, false, 3, 3, {0, 1, 4}, {5, 6, UINT32_MAX}},
	    {"a<=5", 1, false, 3, 2, {0, 4, 5}, {6, 255}},
	    {"a==5", 1, false, 1, 3, {5}, {4, 6, 0}},
	    {"a=5", 1, false, 1, 3, {5}, {4, 6, 0}},
	    {"a!=5", 1, false, 4, 1, {4, 6, 0, 255}, {5}},
	    {"a!=0", 8, false, 3, 1, {1, -1, 7}, {0}},
	    {"a<0", 4, true, 3, 3, {-1, -2, INT32_MIN}, {0, 1, INT32_MAX}},
	    {"a<=-1", 8, true, 2, 3, {-1, INT64_MIN}, {0, 1, INT64_MAX}},
	    {"a>-2", 8, true, 4, 3, {-1, 0, 1, INT64_MAX}, {-2, -3, INT64_MIN}},
	    {"a>=-2", 1, true, 4, 2, {-2, -1, 0, 127}, {-3, -128}},
	    {"a!=-1", 2, true, 4, 1, {-2, 0, 32767, -32768}, {-1}},
	    {"a<=-9223372036854775808", 8, true, 1, 3, {INT64_MIN}, {-1, 0, INT64_MAX}},
	    {"a>=4KiB", 8, false, 2, 2, {4096, 4097}, {4095, 0}},
	    {"a==0x1f", 8, false, 1, 2, {31}, {30, 32}},
	    {"a==NULL", 8, false, 1, 2, {0}, {1, -1}},
	    {"a!=NULL", 8, false, 2, 1, {1, -1}, {0}},
	    {"duration>10ms", 8, false, 2, 2, {10000001, INT64_MAX}, {10000000, 0}},
	    {"duration<=1.5us", 8, false, 3, 2, {1500, 1, 0}, {1501, -1}},
	    {"a>=0", 4, false, 3, 0, {0, 1, UINT32_MAX}, {0}},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct spec_when_range r;
		struct err e = {0};
		struct spec_when w;
		size_t at;

		assert_int_equal(spec_when_parse(cases[i].text, &w, &at, &e), 0);
		assert_int_equal(w.nr, 1);
		assert_int_equal(at, strlen(cases[i].text));
		assert_int_equal(
		    spec_when_range(&w.item[0], cases[i].bytes, cases[i].is_signed, &r, &e), 0);
		for (size_t k = 0; k < cases[i].nr; k++)
			if (!is_meant(&r, (uint64_t)cases[i].is[k]))
				fail_msg("%s: not %" PRId64, cases[i].text, cases[i].is[k]);
		for (size_t k = 0; k < cases[i].nr_not; k++)
			if (is_meant(&r, (uint64_t)cases[i].is_not[k]))
				fail_msg("%s: %" PRId64, cases[i].text, cases[i].is_not[k]);
	}
}

TEST(joined)
{
	static const char text[] = "  size >= 4KiB and return<0 && duration > 10ms and p!=NULL ";
	struct err e = {0};
	struct spec_when w;
	size_t at;

	assert_int_equal(spec_when_parse(text, &w, &at, &e), 0);
	assert_int_equal(w.nr, 4);
	assert_memory_equal(w.item[0].name, "size", w.item[0].len);
	assert_true(w.item[1].is_result && !w.item[1].is_duration);
	assert_true(w.item[2].is_duration && w.item[2].unit == SPEC_WHEN_TIME);
	assert_int_equal(w.item[2].number, 10000000);
	assert_true(w.item[3].is_null);
	assert_ptr_equal(w.item[3].name, strstr(text, "p!"));
}

/* By the comparisons that decide, with the items by their names: a bit of values for each. */
static bool is_met(const struct spec_when *w, unsigned values)
{
	unsigned i = 0;

	while (i < w->nr) {
		const unsigned next = w->item[i].next[values >> (*w->item[i].name - 'a') & 1];

		assert_true(next > i);
		i = next;
	}
	assert_true(i == SPEC_WHEN_NO || i == SPEC_WHEN_YES);
	return i == SPEC_WHEN_YES;
}

#define V(letter) (values >> (#letter[0] - 'a') & 1)
#define CASE(name, expression)                                                                     \
	static bool name(unsigned values)                                                          \
	{                                                                                          \
		return expression;                                                                 \
	}
CASE(one, V(a))
CASE(plain, (V(a) && V(b)) || (V(c) && V(d)) || V(e))
CASE(behind, V(a) && (V(b) || V(c)))
CASE(before, (V(a) || V(b)) && V(c))
CASE(both, (V(a) || V(b)) && (V(c) || V(d)) && V(e))
CASE(between, V(a) || (V(b) && (V(c) || V(d)) && V(e)) || V(f))
CASE(nested, ((V(a) && (V(b) || (V(c) && (V(d) || V(e))))) || V(f)) && V(g))
CASE(repeated, (V(a) || V(b)) && (V(b) || V(c)) && (V(c) || V(a)))

/* All values of the comparisons, as C has the condition. */
TEST(evaluated)
{
	static const struct {
		const char *text;
		size_t nr;
		bool (*expected)(unsigned values);
	} cases[] = {
	    {"a>1", 1, one},
	    {"((a>1))", 1, one},
	    {"a>1 and b<2||c==3&&d!=4 or e ~ \"/a and ('b' || c*\"", 5, plain},
	    {"(a>1 and(b<2))or(c>1&&d>1||e>1)", 5, plain},
	    {"a > 3 and (b == 1 or c ~ \"/etc/*\")", 3, behind},
	    {"( a>1 || b>1 ) && c>1", 3, before},
	    {"(a>1 or b>1) and (c>1 or d>1) and e>1", 5, both},
	    {"(a>1 or b>1) and ((c>1 or d>1) and e>1)", 5, both},
	    {"a>1 or b>1 and (c>1 or d>1) and e>1 or f>1", 6, between},
	    {"a>1 or (b>1 and (c>1 or d>1) and e>1 or f>1)", 6, between},
	    {"(a>1 and (b>1 or c>1 and (d>1 or e>1)) or f>1) and g>1", 7, nested},
	    {"(a>1||b>1)&&(b>1||c>1)&&(c>1||a>1)", 6, repeated},
	    {"((((((((((((((((a>1 or b>1))))))))))))))) and c>1)", 3, before},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct err e = {0};
		struct spec_when w;
		size_t at;

		assert_int_equal(spec_when_parse(cases[i].text, &w, &at, &e), 0);
		assert_int_equal(w.nr, cases[i].nr);
		assert_int_equal(at, strlen(cases[i].text));
		for (unsigned values = 0; values < 1U << 7; values++)
			if (is_met(&w, values) != cases[i].expected(values))
				fail_msg("%s: %#x", cases[i].text, values);
	}
}

/* What is compared, and whether it or another one is meant. */
TEST(texts)
{
	static const struct {
		const char *text, *constant;
		bool is_begin, is_other;
	} cases[] = {
	    {"p == \"/etc/passwd\"", "/etc/passwd", false, false},
	    {"p='say \"no\"'", "say \"no\"", false, false},
	    {"p == \"\"", "", false, false},
	    {"p == \"a*\"", "a*", false, false},
	    {"p != 'x'", "x", false, true},
	    {"p ~ \"/etc/*\"", "/etc/", true, false},
	    {"p!~\" *\"", " ", true, true},
	    {"p == \"\xc3\xa4\"", "\xc3\xa4", false, false},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct err e = {0};
		struct spec_when w;
		size_t at;

		assert_int_equal(spec_when_parse(cases[i].text, &w, &at, &e), 0);
		assert_int_equal(w.nr, 1);
		assert_int_equal(w.item[0].unit, SPEC_WHEN_TEXT);
		assert_int_equal(w.item[0].text_len, strlen(cases[i].constant));
		assert_memory_equal(w.item[0].text, cases[i].constant, w.item[0].text_len);
		assert_int_equal(w.item[0].is_begin, cases[i].is_begin);
		for (uint64_t is = 0; is < 2; is++) {
			const struct spec_when_range r = spec_when_text_range(&w.item[0]);

			assert_int_equal(is_meant(&r, is), is != cases[i].is_other);
		}
	}
}

/* The longest text, with what begins so, and one that is longer. */
TEST(long_texts)
{
	for (size_t len = SPEC_WHEN_TEXT_BYTES; len <= SPEC_WHEN_TEXT_BYTES + 1; len++) {
		for (int is_begin = 0; is_begin < 2; is_begin++) {
			char text[256], constant[SPEC_WHEN_TEXT_BYTES + 2];
			struct err e = {0};
			struct spec_when w;
			size_t at;
			int rc;

			memset(constant, 'x', len);
			constant[len] = '\0';
			snprintf(text, sizeof(text), is_begin ? "p ~ '%s*'" : "p == '%s'",
				 constant);
			rc = spec_when_parse(text, &w, &at, &e);
			assert_int_equal(rc, len > SPEC_WHEN_TEXT_BYTES ? -EINVAL : 0);
			if (rc == 0) {
				assert_int_equal(w.item[0].text_len, len);
				continue;
			}
			assert_string_equal(e.msg, "the text is longer than 118 bytes");
			assert_int_equal(at, strchr(text, '\'') - text);
		}
	}
}

#define UMLAUTS                                                                                    \
	"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4" \
	"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"

/* Each with the byte at which it is wrong. */
TEST(refused)
{
	static const struct {
		const char *text;
		size_t at;
		const char *message;
	} cases[] = {
	    {"", 0, "is missing at the end"},
	    {"5>a", 0, "\"5>a\" is not the name"},
	    {"a", 1, "an operator (<, <=, >, >=, ==, !=, ~, !~) is missing at the end"},
	    {"a 5", 2, "\"5\" is not an operator"},
	    {"a=<5", 1, "\"=<5\" is not an operator"},
	    {"a!5", 1, "is not an operator"},
	    {"a>", 2, "a value is missing at the end"},
	    {"a> -", 3, "\"-\" is not a value"},
	    {"a>5x", 2, "\"5x\" is not a value"},
	    {"a>0x", 2, "\"0x\" is not a value"},
	    {"a>18446744073709551616", 2, "is not a value"},
	    {"a>5 ms", 4, "\"ms\" is neither \"and\" nor \"or\""},
	    {"a>5 android<3", 4, "\"android<3\" is neither"},
	    {"a>5 | b<3", 4, "\"|\" is neither"},
	    {"a>5 or", 6, "is missing at the end"},
	    {"a>5 or or b<3", 7, "\"or\" is not the name"},
	    {"or a>5", 0, "\"or\" is not the name"},
	    {"a>5 and and>3", 8, "\"and>3\" is not the name"},
	    {"a>5)", 3, "this ) has no ("},
	    {"(a>5 or b<3) ) and c>1", 13, "this ) has no ("},
	    {"(a>5", 0, "this ( has no )"},
	    {"a>5 and ((b<3 or c<3)", 8, "this ( has no )"},
	    {"a>5 and ()", 9, "\")\" is not the name"},
	    {"a>5 and (", 9, "is missing at the end"},
	    {"a>(5)", 2, "\"(\" is not a value"},
	    {"a (>5)", 2, "\"(\" is not an operator"},
	    {"(a>5) b<3", 6, "\"b<3\" is neither"},
	    {"(a>5)(b<3)", 5, "\"(\" is neither"},
	    {"(a>5x)", 3, "\"5x\" is not a value"},
	    {"((((((((((((((((((a>5", 16, "more than 16 parentheses in one another"},
	    {"a>1.", 2, "\"1.\" is not a value"},
	    {"a>1.5.2", 2, "\"1.5.2\" is not a value"},
	    {"duration > 0.5", 11, "duration is compared with a time"},
	    {"p == /etc", 5, "\"/etc\" is not a value"},
	    {"p == \"x", 5, "the text has no end: \" is missing"},
	    {"p == 'x\"", 5, "the text has no end: ' is missing"},
	    {"p == \"x\ty\"", 5, "a control character"},
	    {"p == '\xc3'", 5, "is not UTF-8"},
	    {"p ~ '\xe4*'", 4, "is not UTF-8"},
	    {"p == x" UMLAUTS UMLAUTS, 5, "\"x" UMLAUTS "\" is not a value"},
	    {"p == 'x' y", 9, "\"y\" is neither"},
	    {"p ~ /etc/*", 4, "\"/etc/*\" is not a value"},
	    {"p ~ 5", 4, "~ compares a text, which has quotes"},
	    {"p !~ NULL", 5, "!~ compares a text, which has quotes"},
	    {"p ~ \"x\"", 4, "~ compares the begin of a text, which ends with its only *"},
	    {"p !~ \"*x*\"", 5, "!~ compares the begin of a text, which ends with its only *"},
	    {"p ~ \"\"", 4, "~ compares the begin of a text, which ends with its only *"},
	    {"p ~ \"*\"", 4, "every text begins so"},
	    {"p < \"x\"", 4, "texts are compared by ==, !=, ~ and !~ alone"},
	    {"p >= \"x\"", 5, "texts are compared by ==, !=, ~ and !~ alone"},
	    {"p =~ \"x*\"", 2, "\"=~\" is not an operator"},
	    {"p ~= \"x*\"", 2, "\"~=\" is not an operator"},
	    {"duration == \"x\"", 12, "duration is compared with a time"},
	    {"a>5 and", 7, "is missing at the end"},
	    {"a>5 && && b>1", 7, "\"&&\" is not the name"},
	    {"a>10ms", 2, "only duration is compared with a time"},
	    {"duration>10", 9, "duration is compared with a time"},
	    {"duration > -1ms", 11, "duration is compared with a time"},
	    {"duration==1ms", 10, "no two are equal"},
	    {"a>1&&a>2&&a>3&&a>4&&a>5&&a>6&&a>7&&a>8||a>1&&a>2&&a>3&&a>4&&a>5&&a>6&&a>7&&a>8||"
	     "a>9",
	     78, "more than 16 comparisons"},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct err e = {0};
		struct spec_when w;
		size_t at = 1000;

		assert_int_equal(spec_when_parse(cases[i].text, &w, &at, &e), -EINVAL);
		if (at != cases[i].at || !strstr(e.msg, cases[i].message))
			fail_msg("\"%s\": at %zu: %s", cases[i].text, at, e.msg);
		assert_true(*e.hint);
	}
}

/* What the type cannot have. */
TEST(out_of_range)
{
	static const struct {
		const char *text;
		uint32_t bytes;
		bool is_signed;
		const char *message;
	} cases[] = {
	    {"a>-1", 4, false, "a is from 0 to 4294967295"},
	    {"a<256", 1, false, "a is from 0 to 255"},
	    {"a>128", 1, true, "a is from -128 to 127"},
	    {"a>-129", 1, true, "a is from -128 to 127"},
	    {"a<0", 8, false, "no value of a is below that"},
	    {"a>18446744073709551615", 8, false, "no value of a is above that"},
	    {"a<-9223372036854775808", 8, true, "no value of a is below that"},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct spec_when_range r;
		struct err e = {0};
		struct spec_when w;
		size_t at;

		assert_int_equal(spec_when_parse(cases[i].text, &w, &at, &e), 0);
		assert_int_equal(
		    spec_when_range(&w.item[0], cases[i].bytes, cases[i].is_signed, &r, &e),
		    -EINVAL);
		assert_string_equal(e.msg, cases[i].message);
		assert_true(*e.hint);
	}
}
