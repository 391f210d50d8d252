/*
 * What the condition of an event means for the calls of a function: the names in it are those of
 * the function's signature. Private to calls/.
 *
 * A condition is a list of alternatives, one behind the other, each of which is a list of terms. A
 * term compares a word with a range, whether the word is a value, the duration, or says that a text
 * is the one that is meant; so what evaluates them has one loop, and no operators. What is longer
 * by the key longer_than is a term of each alternative.
 */
#ifndef CALLS_WHEN_H
#define CALLS_WHEN_H

#include "calls/way.h"

struct spec_event;
struct spec_pos;

enum {
	CALLS_WHEN_MAX = 17,       /* comparisons of an event, with the one of longer_than */
	CALLS_NO = CALLS_WHEN_MAX, /* in place of the next term: it is decided */
	CALLS_YES,
	CALLS_DURATION = UINT32_MAX,
};

struct calls_term {
	uint32_t field;   /* of the signature, by its number, or CALLS_DURATION */
	unsigned next[2]; /* by whether it holds: a term behind it, CALLS_NO or CALLS_YES */
	const char *text; /* NULL: the value is in the range. Else 1 is, if the value is this
			   * text, and 0 if it is not. len bytes, borrowed from the event */
	size_t len;
	bool is_begin; /* if the value begins with this text */
	struct calls_range range;
};

/* Refuses a condition that does not fit all functions of the event, or that no call can meet. 0;
 * -EINVAL with *e, and the place in *pos, or in *e if an option has the condition. */
int calls_when_check(const struct plan_event *p, struct spec_pos *pos, struct err *e);

/* Of an event that was checked, and counts calls when they end: their number, at least one.
 * signature is that of the event's functions, or NULL. */
size_t calls_when_terms(const struct spec_event *asked, const struct functions_signature *signature,
			struct calls_term out[CALLS_WHEN_MAX]);

#endif
