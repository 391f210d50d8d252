/*
 * Waits for the end of running processes, or of the last process in a cgroup, in a thread.
 */
#ifndef TARGET_WATCH_H
#define TARGET_WATCH_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

struct target_watch;

/* Of these processes. Make it before their threads are looked up: what it watches cannot be
 * replaced by a process that later has the number. 0, or -errno with *e: -ESRCH if none of them
 * exists. */
int target_watch_new(const pid_t *pids, size_t nr, struct target_watch **out, struct err *e);
/* Of a cgroup; fd: its folder, borrowed. One that is empty ends when processes have come and gone.
 * -ENOENT without an error in *e: this cgroup (of version 1)
 * does not report its end. */
int target_watch_new_cgroup(int fd, struct target_watch **out, struct err *e);
/* on_end is called once, in a thread, when all have ended. 0 or -errno with *e. */
int target_watch_start(struct target_watch *w, void (*on_end)(void *arg), void *arg, struct err *e);
bool target_watch_has_ended(const struct target_watch *w);
/* False: there was no process in the cgroup so far. Any thread. */
bool target_watch_has_begun(const struct target_watch *w);
void target_watch_free(struct target_watch *w); /* NULL is fine */

#endif
