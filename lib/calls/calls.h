/*
 * The events of the group function: how often functions are called, and how long calls take.
 *
 * A function that several events have is measured once. Who measures is a way (calls/way.h). The
 * source reads sums that only grow, and returns what was added between two boundaries; a thread of
 * its own removes functions whose measuring costs more than the spec allows (calls/watch.h).
 */
#ifndef CALLS_CALLS_H
#define CALLS_CALLS_H

#include "plan/source.h"

struct host;

/* The first measures by programs in the kernel; the second by the agent in the program, what the
 * compiler has prepared. */
extern const struct source calls_source, calls_agent_source;

struct plan;
struct plan_event;

/* What would let the agent measure the event, where the kernel refuses: an order. */
const char *calls_remedy(const struct plan *plan, const struct plan_event *p);

/* Whether calls can be measured here: loads the programs, and unloads them. */
void calls_check(const struct host *h, struct event_support *out);

#endif
