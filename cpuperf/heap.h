/*
 * The agent that measures the heap of a command (libcpuperf-agent.so): whether the command can have
 * it, and the variables by which it gets it.
 */
#ifndef HEAP_H
#define HEAP_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct plan;
struct plan_target;
struct spec_list;

enum { HEAP_REASON_BYTES = 256 };

/* Reads the command's files. False: the agent cannot be loaded there, and why; also if it is not
 * installed. True, too, if the plan has no events of the heap. */
bool heap_is_measurable(const struct plan *plan, char reason[HEAP_REASON_BYTES]);
/* The agent that the command can load. False: there is none. */
bool heap_find_library(const struct spec_list *command, char library[PATH_MAX]);

/* Whether a process of those that the plan's spec names by number can have the agent, without
 * touching them. 0 or -errno with *e. */
int heap_check_attach(const struct plan *plan, struct err *e);

/* The processes that have it. */
struct heap_attached {
	pid_t *pid; /* owned */
	size_t nr;
};

/* Loads it into the target's processes; a warning names each that cannot have it. socket: of the
 * session. 0, or -errno with *e: no process has it. */
int heap_attach(const struct plan_target *t, const char *socket, struct heap_attached *out,
		struct err *e);
/* They measure nothing any more; where that fails, a warning says why. */
void heap_detach(struct heap_attached *a);

#endif
