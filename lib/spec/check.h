/*
 * The rules between the keys of an event, and between events, that do not depend on the machine.
 */
#ifndef SPEC_CHECK_H
#define SPEC_CHECK_H

#include "spec/spec.h"

enum {
	/* Flags that concern samples … */
	CHECK_SAMPLE_FLAGS = SPEC_PC | SPEC_LAST_BRANCH | SPEC_TIMEBASE | SPEC_CALLCHAIN |
			     SPEC_USER_STACK | SPEC_PRECISE | SPEC_WAKER | SPEC_ADAPTIVE,
	/* … or the counter, sampled or not. Events of the group misc accept neither. */
	CHECK_COUNTER_FLAGS = SPEC_PINNED | SPEC_NO_IDLE | SPEC_GUEST | SPEC_HOST,
};

/* Reports every rule that the events of s break, at its place in the text. */
void check_events(const struct spec *s, struct err_list *errs);

/* Whether two events would be the same column. */
bool spec_is_same_event(const struct spec_event *a, const struct spec_event *b);
/* True if the kernel can add the samples of such an event up, as it is. */
bool check_may_aggregate(const struct spec_event *e);
/* Whether the event is a wait of which a sample may stand for several. */
bool check_may_thin(const struct spec_event *e);

#endif
