/*
 * The processes that a command leaves running. This process adopts them (PR_SET_CHILD_SUBREAPER),
 * so that it can wait for them (--wait-children); else init would be their parent.
 */
#ifndef TARGET_ORPHANS_H
#define TARGET_ORPHANS_H

#include "base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct target_orphans;

/* Call it before the command is started; children that exist already are not waited for. 0 or
 * -errno with *e. */
int target_orphans_new(struct target_orphans **out, struct err *e);
void target_orphans_free(struct target_orphans *o); /* NULL is fine */

/* Waits until the command has ended, which stays unreaped, and all that it started, or
 * target_orphans_stop was called. Reaps orphans, also while the command runs, and adds what they
 * used to *usage (the largest ru_maxrss). maker: a child of this process that is no orphan. Returns
 * the time of the last end, CLOCK_MONOTONIC. One thread calls it. */
uint64_t target_orphans_wait(struct target_orphans *o, pid_t command, pid_t maker,
			     struct rusage *usage);
/* Ends the waiting for others than the command, now and later. Async-signal-safe, for any thread.
 */
void target_orphans_stop(struct target_orphans *o);

/* Adds what wait4 returned: times, faults, blocks, switches; of ru_maxrss the larger. */
/* What waitid returned of a child is its end, not a stop by its tracer, which it returns as well.
 */
bool target_is_end(const siginfo_t *info);
void target_usage_add(struct rusage *to, const struct rusage *from);
/* Subtracts a part from the same numbers but ru_maxrss: at most what there is. The kernel divides
 * CPU time into user and system time anew each time it is read: what one has too little is
 * subtracted from the other. */
void target_usage_subtract(struct rusage *from, const struct rusage *part);

#endif
