/*
 * /proc/PID/stat: name and parent of a process. Source: do_task_stat in
 * fs/proc/array.c.
 */
#ifndef COLLECT_PROC_TASK_H
#define COLLECT_PROC_TASK_H

#include <stddef.h>
#include <stdint.h>

struct proc_task {
	const char *name; /* in the text, not terminated: any bytes */
	size_t name_len;
	uint64_t parent;       /* pid; 0: none, or outside this PID namespace */
	uint64_t nr_threads;   /* 0: it has ended */
	uint64_t memory_bytes; /* size of its address space; 0: none (a kernel thread, or ended) */
};

/* 0 or -EINVAL. */
int proc_task_parse(const char *text, size_t len, struct proc_task *out);

#endif
