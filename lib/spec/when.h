/*
 * Which calls of a function become samples: "size >= 4KiB and return < 0 and duration > 10ms".
 * Comparisons of an argument of the signature, of the result or of the duration with a constant,
 * joined by "and" or "&&". What "or" would be is a second event.
 *
 * Every comparison is a range of 64-bit words that may wrap around, so who compares needs no
 * operator, and no sign: a word w is meant if w - low <= span, without a sign.
 */
#ifndef SPEC_WHEN_H
#define SPEC_WHEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum { SPEC_WHEN_MAX = 8 };

enum spec_when_unit {
	SPEC_WHEN_NUMBER, /* 4096, -1, 0x1f, 4KiB, NULL */
	SPEC_WHEN_TIME,   /* 10ms, in ns */
};

struct spec_comparison {
	const char *name; /* len bytes of the text; not terminated */
	size_t len;
	bool is_duration, is_result;
	enum spec_when_unit unit;
	bool is_null;     /* the constant is written NULL */
	bool is_negative; /* number is its absolute value */
	uint64_t number;
	size_t value_at; /* in the text */
	unsigned row;    /* of the operator */
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

/* A word that follows '@' on the command line is a condition, and no version of a symbol. */
bool spec_when_is_spelled(const char *text, size_t len);

#endif
