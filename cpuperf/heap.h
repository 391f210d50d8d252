/*
 * The agent that measures the heap of a command (libcpuperf-agent.so): whether the command can have
 * it, and the variables by which it gets it.
 */
#ifndef HEAP_H
#define HEAP_H

#include "base/err.h"

#include <stdbool.h>

struct plan;
struct target_command;

enum { HEAP_REASON_BYTES = 256 };

/* Reads the command's files. False: the agent cannot be loaded there, and why; also if it is not
 * installed. True, too, if the plan has no events of the heap. */
bool heap_is_measurable(const struct plan *plan, char reason[HEAP_REASON_BYTES]);
/* Has the command load the agent, before its other libraries. socket: of the session. 0 or -errno
 * with *e. */
int heap_set_variables(struct target_command *c, const char *socket, struct err *e);

#endif
