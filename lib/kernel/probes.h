/*
 * The events of the group usdt: their program in the kernel, and the breakpoints.
 */
#ifndef KERNEL_PROBES_H
#define KERNEL_PROBES_H

#include "plan/source.h"

struct host;

extern const struct source kernel_probes_source;

/* Whether probes work here: loads the program, and unloads it. */
void kernel_probes_check(const struct host *h, struct event_support *out);

#endif
