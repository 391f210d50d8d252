/*
 * The events of the group sched: their programs in the kernel, which measure how long tasks wait.
 */
#ifndef KERNEL_WAITS_H
#define KERNEL_WAITS_H

#include "plan/source.h"

extern const struct source kernel_waits_source;

/* Whether the events work here: loads their programs, and unloads them. */
void kernel_waits_check(struct event_support *out);

#endif
