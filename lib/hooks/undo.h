/*
 * Puts back, in processes that go on, the instructions which the agent has replaced
 * (agent/functions/places.c). While no thread of a process runs the recorder writes into its
 * memory: no code of the process is needed for that. The code to which the replaced instructions
 * led stays mapped, as threads may be in it.
 *
 * Only what is proved to be the agent's is written over: bytes that lead to code as it is made for
 * this place. A breakpoint there is another tool's, or one that the kernel left, and stays.
 */
#ifndef HOOKS_UNDO_H
#define HOOKS_UNDO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct attach_space;
struct wire_functions_file;

/* What a session replaces. Borrowed. */
struct hooks_replaced {
	const struct wire_functions_file *files; /* nr, with their places */
	size_t nr;
	uint32_t recorder; /* as the session's memories have it */
};

struct hooks_undone {
	size_t nr;          /* places that are as they were */
	size_t breakpoints; /* places with one, which stay */
	size_t others;      /* with something else, which stays */
};

/* Where the files' places are in the process. *out is added to. 0, also if nothing was replaced, or
 * for another recorder alone; -errno: what is replaced stays: -EPERM, -EAGAIN as
 * attach_while_still; -ESRCH: it has ended. */
int hooks_undo(const struct hooks_replaced *what, pid_t pid, struct hooks_undone *out);
/* The same if the recorder has died without a word: the agent is told at first, so that what it
 * was about to replace stays as it is, too. -EAGAIN also: it has gone on replacing for wait_ns.
 * Makes no thread. */
int hooks_undo_left(const struct hooks_replaced *what, pid_t pid, uint64_t wait_ns,
		    struct hooks_undone *out);

#endif
