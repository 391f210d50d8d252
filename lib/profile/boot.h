/*
 * Whether a trace is of this machine, and of now.
 */
#ifndef PROFILE_BOOT_H
#define PROFILE_BOOT_H

#include "trace/trace.h"

#include <stdbool.h>

/* True if the trace was recorded on this machine since its last boot. */
bool profile_boot_is_current(const struct trace_head *head);

#endif
