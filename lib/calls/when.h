/*
 * What the condition of an event means for the calls of a function: the names in it are those of
 * the function's signature. Private to calls/.
 */
#ifndef CALLS_WHEN_H
#define CALLS_WHEN_H

#include "calls/way.h"

struct spec_event;
struct spec_pos;

enum { CALLS_WHEN_MAX = 8 };

/* A value of the signature, by its number, has to be in the range. */
struct calls_condition {
	uint32_t field;
	struct calls_range range;
};

/* Refuses a condition that does not fit all functions of the event, or that no call can meet. 0;
 * -EINVAL with *e, and the place in *pos if the condition is in a text. */
int calls_when_check(const struct plan_event *p, struct spec_pos *pos, struct err *e);

/* Of an event that was checked, with what calls have to have lasted by the key longer_than. */
struct calls_range calls_when_duration(const struct spec_event *asked);
/* Their number. signature is that of the event's functions, or NULL. */
size_t calls_when_conditions(const struct spec_event *asked,
			     const struct functions_signature *signature,
			     struct calls_condition out[CALLS_WHEN_MAX]);

#endif
