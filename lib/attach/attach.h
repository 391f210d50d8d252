/*
 * An agent (of the heap, or of experiments: agent/late/entries.h) in a process that runs already:
 * one of its threads is made to call dlopen, and then the agent, and goes on as before.
 *
 * The whole stack of that thread must be understood, and it must be outside the C library, the
 * loader and allocators, except in a system call that waits, in a function that holds none of their
 * locks. It does not wait for the loader's lock: it comes back, and the attempt is repeated. Its
 * registers, and all else that a signal's handler would preserve, are in a frame on its stack, like
 * that of a signal: so it returns by itself even if this process dies.
 *
 * Threads: any one at a time; it traces, so it must be the same until a call returns.
 *
 * A frame of that thread's stack may be of no function that holds a lock of libc, ld.so or an
 * allocator (attach/stack.h). The call's return address is libc's own return from a signal's
 * handler, over a frame as the kernel writes it: so the thread restores itself if the recorder
 * dies. If the recorder lives, it stops the thread as that system call begins, and restores all
 * exactly: there the kernel still decides how an interrupted call goes on. No single steps and no
 * breakpoints: they would outlive the recorder. The tracing thread is one of its own, and ends: so
 * the kernel releases what did not stop in time.
 */
#ifndef ATTACH_ATTACH_H
#define ATTACH_ATTACH_H

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

struct attach_figures {
	uint32_t entries, objects; /* that were rewritten */
	uint32_t tries;
	uint64_t stopped_ns; /* the longest time for which a thread stood still, or was ours */
};

/* Reads what the process is, without touching it. 0, or -errno with *e: why the agent cannot be
 * there. library: its absolute path. */
int attach_check(pid_t pid, const char *library, struct err *e);
/* Has the process load the library, unless it has it, and measure for the recorder with that
 * number; --verbose says what it took. *out: NULL is fine, also below. 0; -errno with *e, and
 * nothing is measured. */
int attach_begin(pid_t pid, const char *library, uint32_t number, struct attach_figures *out,
		 struct err *e);
/* Has the process measure nothing any more by the library of that name, which stays; says what it
 * took, too. 0 or -errno with *e; -ESRCH: the process has ended, or runs another program. */
int attach_end(pid_t pid, const char *library, struct attach_figures *out, struct err *e);
/* The same; a warning says why it failed, unless the process has ended. */
void attach_leave(pid_t pid, const char *library);

#endif
