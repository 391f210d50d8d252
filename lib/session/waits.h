/*
 * The events of the group sched: their programs in the kernel, which measure how long tasks wait.
 */
#ifndef SESSION_WAITS_H
#define SESSION_WAITS_H

#include "session/source.h"

extern const struct source session_waits_source;

/* Whether the events work here: loads their programs, and unloads them. */
void session_waits_check(struct event_support *out);

#endif
