/*
 * Puts back what the agent has replaced if the recorder is killed: a child of it that sleeps until
 * the recorder's end, in a session of its own, so that what is sent to a group of processes is not
 * for it. Who ends in order has put all back itself, and ends the child.
 *
 * As base/child.h says the child uses no heap of libc, makes no thread, and has no output.
 */
#ifndef HOOKS_KEEPER_H
#define HOOKS_KEEPER_H

#include "base/child.h"
#include "hooks/undo.h"

struct proc_family;

/* All borrowed; the child has its own copy. */
struct hooks_kept {
	struct hooks_replaced what;
	const char *variable; /* NAME=VALUE, that processes of the session have */
};

/* 0 or -errno, as child_start; child_end ends it. */
int hooks_keeper_start(const struct hooks_kept *kept, struct child *out);

/* Adds the processes that had the variable when they were executed, and what these have made.
 * Without memory some are missing. */
void hooks_keeper_find(const char *variable, struct proc_family *out);

#endif
