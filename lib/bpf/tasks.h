/*
 * What all processes use, read by an iterator in the kernel, without /proc.
 */
#ifndef BPF_TASKS_H
#define BPF_TASKS_H

#include "bpf/tasks_shared.h"

#include <stdbool.h>

struct err;
struct tasks;

/* What is read besides names, CPU time, faults and the number of threads. */
struct tasks_config {
	bool has_memory, has_io;
	bool has_threads; /* passes each thread, too */
};

/* Loads the program. 0 or -errno with *e: -EPERM: not permitted; -ENOTSUP: this kernel, or this
 * build, cannot do it; -ENOMEM. */
int tasks_open(const struct tasks_config *config, struct tasks **out, struct err *e);
void tasks_close(struct tasks *t); /* NULL is fine */

/* One of both is set. 0 to go on, or -errno, which tasks_read returns. */
typedef int tasks_fn(const struct bpf_tasks_process *process, const struct bpf_tasks_thread *thread,
		     void *arg);
/* Passes all processes of the caller's PID namespace, and their further threads, by number,
 * ascending. Those that begin or end meanwhile may be missing. 0 or -errno. One thread at a time.
 */
int tasks_read(struct tasks *t, tasks_fn *fn, void *arg);

#endif
