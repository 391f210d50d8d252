/*
 * Which calls of a function become samples: "size >= 4KiB and (return < 0 or path ~ 'GET *')".
 * Comparisons of an argument of the signature, of the result or of the duration with a constant,
 * joined by "and", which binds closer, and "or", and by parentheses. Who evaluates a condition
 * needs none of these: each comparison says which one decides next if it holds, and if it does
 * not. That one is always behind it.
 *
 * Every comparison with a number is a range of 64-bit words that may wrap around, so who compares
 * needs no operator, and no sign: a word w is meant if w - low <= span, without a sign. Of a text
 * the word is 1 if it is the constant, or begins with it, else 0.
 */
#ifndef SPEC_WHEN_H
#define SPEC_WHEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum {
	SPEC_WHEN_MAX = 16,
	SPEC_WHEN_NO = SPEC_WHEN_MAX, /* in place of the next comparison: it is decided */
	SPEC_WHEN_YES,
	SPEC_WHEN_TEXT_BYTES = 118, /* of a constant: of a text more is not told apart */
};

enum spec_when_unit {
	SPEC_WHEN_NUMBER,   /* 4096, -1, 0x1f, 4KiB, NULL */
	SPEC_WHEN_TIME,     /* 10ms, in ns */
	SPEC_WHEN_FRACTION, /* 0.5: of no value that is recorded */
	SPEC_WHEN_TEXT,     /* "x", 'x' */
};

struct spec_comparison {
	const char *name; /* len bytes of the text; not terminated */
	size_t len;
	bool is_duration, is_result;
	unsigned next[2]; /* by whether it holds: an item, SPEC_WHEN_NO or SPEC_WHEN_YES */
	enum spec_when_unit unit;
	bool is_null;     /* the constant is written NULL */
	bool is_negative; /* number is its absolute value */
	uint64_t number;
	const char *text; /* of SPEC_WHEN_TEXT: text_len bytes, between its quotes */
	size_t text_len;
	bool is_begin; /* a text that begins so is meant: the '*' is not in text_len */
	unsigned row;  /* of the operator */
};

struct spec_when {
	struct spec_comparison item[SPEC_WHEN_MAX];
	size_t nr;
};

struct spec_when_range {
	uint64_t low, span;
};

/* Borrows text. 0; -EINVAL with *e, and the byte of the text that is wrong in *at. */
int spec_when_parse(const char *text, struct spec_when *out, size_t *at, struct err *e);

/* The words of a type of so many bytes that the comparison means, as 64 bits hold them: of a
 * negative number with its sign. 0; -EINVAL with *e: the constant is none of the type, or all
 * values, or none, would be meant. */
int spec_when_range(const struct spec_comparison *c, uint32_t bytes, bool is_signed,
		    struct spec_when_range *out, struct err *e);

/* The range of a comparison with a text. */
struct spec_when_range spec_when_text_range(const struct spec_comparison *c);

/* A word that follows '@' on the command line is a condition, and no version of a symbol. */
bool spec_when_is_spelled(const char *text, size_t len);

#endif
