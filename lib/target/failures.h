/*
 * Processes of a target that fail, as the kernel reports them (proc connector) to root, since
 * Linux 6.6 to everybody: each process that is created and that ends, of the whole machine, in
 * order. Their own tree is followed here.
 *
 * A failure triggers the snapshot of a flight recorder, through its epoll descriptor.
 */
#ifndef TARGET_FAILURES_H
#define TARGET_FAILURES_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct target_failures;

struct target_failure {
	pid_t pid;
	int status; /* as waitpid returns it; not 0 */
};

/* Reports begin now. has_children: processes that those of the target create belong to it. 0 or
 * -errno with *e: -EPERM without CAP_NET_ADMIN (before Linux 6.6), or in a namespace of pids or
 * users. */
int target_failures_new(bool has_children, struct target_failures **out, struct err *e);
void target_failures_free(struct target_failures *f); /* NULL is fine */
/* Adds a process to the target. Those that it created since target_failures_new follow when they
 * are read. 0 or -ENOMEM. */
int target_failures_add(struct target_failures *f, pid_t pid);
/* Readable when there may be something to read. */
int target_failures_fd(const struct target_failures *f);
/* The next process of the target that has failed; never blocks, and reads at most some reports per
 * call. 1: *out is filled; 0: none for now; -EAGAIN: call again; -ENOBUFS: reports were lost, and
 * failures may be missing from here on; another -errno: no more can be read. */
int target_failures_next(struct target_failures *f, struct target_failure *out);

#endif
