/*
 * The children of a process, as /proc lists them: for each of its threads those that it made, and
 * of a thread that has ended another one's; the processes of a control group.
 */
#ifndef TARGET_CHILDREN_H
#define TARGET_CHILDREN_H

#include <stddef.h>
#include <sys/types.h>

struct root;

/* Non-zero ends the listing. */
typedef int target_pid_fn(pid_t pid, void *arg);

/* Calls fn for each number in "12 13 " or in a line for each. 0, or what fn returned. */
int target_each_pid(const char *text, size_t len, target_pid_fn *fn, void *arg);
/* The same for the children of a thread; process: a number or "self". -errno if they cannot be
 * listed: -ENOENT if the thread has ended, or the kernel lacks CONFIG_PROC_CHILDREN. */
int target_each_child(const struct root *root, const char *process, const char *thread,
		      target_pid_fn *fn, void *arg);

/* The same for the processes of a control group, and of those below it. folder: its descriptor. */
int target_each_of_cgroup(int folder, target_pid_fn *fn, void *arg);

#endif
