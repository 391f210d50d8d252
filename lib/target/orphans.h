/*
 * The processes that a command leaves running. This process adopts them (PR_SET_CHILD_SUBREAPER),
 * so that it can wait for them; their parent is this process then, where it would be init.
 */
#ifndef TARGET_ORPHANS_H
#define TARGET_ORPHANS_H

#include "base/err.h"

#include <sys/resource.h>
#include <sys/types.h>

struct target_orphans;

/* Call it before the command is started; children that exist already are not waited for. 0 or
 * -errno with *e. */
int target_orphans_new(struct target_orphans **out, struct err *e);
void target_orphans_free(struct target_orphans *o); /* NULL is fine */

/* After the command has ended, before it is reaped: waits until all that it started have ended, or
 * target_orphans_stop was called. Adds what they used to *usage (the largest ru_maxrss). others:
 * two children of this process that are no orphans. One thread calls it. */
void target_orphans_wait(struct target_orphans *o, const pid_t others[2], struct rusage *usage);
/* Ends the waiting, now and later. Async-signal-safe, for any thread. */
void target_orphans_stop(struct target_orphans *o);

/* Adds what wait4 returned: times, faults, blocks, switches; of ru_maxrss the larger. */
void target_usage_add(struct rusage *to, const struct rusage *from);

#endif
