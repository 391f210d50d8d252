/*
 * The libraries that a command loads before its own, to be measured: the agents, each where the
 * session has something that it measures. heap.h says more of that of the heap.
 */
#ifndef PRELOAD_H
#define PRELOAD_H

#include "base/err.h"

struct plan;
struct session;
struct target_command;

/* Sets plan->compiled_refused if the agent of functions is not installed, or cannot be loaded from
 * where it is, and events need it. */
void preload_check(struct plan *plan);
/* Sets the command's variables. Where a library is not there, or the program cannot load it, it
 * runs without. 0 or -errno with *e. */
int preload_set_variables(struct target_command *c, const struct plan *plan,
			  const struct session *s, struct err *e);

#endif
