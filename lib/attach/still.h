/*
 * A process of which no thread executes its own code for a moment, so that others can change that
 * code. Its system calls go on as if nothing had been.
 *
 * A thread that sleeps where it cannot be interrupted needs no stop: it stops before it leaves the
 * kernel. Processes with the same memory are part of it, as between vfork and exec.
 */
#ifndef ATTACH_STILL_H
#define ATTACH_STILL_H

#include <sys/types.h>

/* Calls fn meanwhile, in a thread of its own, which traces the process, and ends: so whatever is
 * still traced is released. 0; -EAGAIN: not all stopped within 2 s, or it is within vfork, and the
 * kernel does not list children; -EPERM: it may not be traced, or is already; -ESRCH: it has ended;
 * -ENOMEM; in all of these cases fn was not called. */
int attach_while_still(pid_t pid, void (*fn)(void *arg), void *arg);
/* The same in this thread, which should end soon: for where no thread can be made. */
int attach_while_still_here(pid_t pid, void (*fn)(void *arg), void *arg);

#endif
