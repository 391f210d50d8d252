/*
 * Events as a program sees them.
 */
#ifndef API_DESCRIBED_H
#define API_DESCRIBED_H

#include "cpuperf/cpuperf.h"
#include "event/event.h"

/* Borrows from the event, the label and the support. label NULL: the event's name. */
void api_described(const struct event *ev, const char *label, const struct event_support *support,
		   struct cpuperf_event *out);

#endif
