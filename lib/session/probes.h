/*
 * The events of the group usdt: their program in the kernel, and the breakpoints.
 */
#ifndef SESSION_PROBES_H
#define SESSION_PROBES_H

#include "session/source.h"

struct host;

extern const struct source session_probes_source;

/* Whether probes work here: loads the program, and unloads it. */
void session_probes_check(const struct host *h, struct event_support *out);

#endif
