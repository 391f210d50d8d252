/*
 * /proc/PID/stat: what a process is called, whose child it is. Source: do_task_stat in
 * fs/proc/array.c.
 */
#ifndef COLLECT_PROC_TASK_H
#define COLLECT_PROC_TASK_H

#include <stddef.h>
#include <stdint.h>

struct proc_task {
	const char *name; /* in the text, not terminated: any bytes */
	size_t name_len;
	uint64_t parent;       /* its pid; 0: none, or none here */
	uint64_t nr_threads;   /* with the first; 0: it has ended */
	uint64_t memory_bytes; /* of its address space; 0: it has none (of the kernel; ended) */
};

/* 0 or -EINVAL. */
int proc_task_parse(const char *text, size_t len, struct proc_task *out);

#endif
