/*
 * /proc/TID/syscall: where a thread is that does not run. Source: proc_pid_syscall in
 * fs/proc/base.c.
 */
#ifndef PROC_CALL_H
#define PROC_CALL_H

#include <stdbool.h>
#include <stdint.h>

struct proc;

enum { PROC_CALL_ARGUMENTS = 6 };

struct proc_call {
	bool is_running; /* then it is nowhere */
	int64_t number;  /* -1: it waits in no system call */
	uint64_t argument[PROC_CALL_ARGUMENTS], sp, pc;
};

/* "NUMBER ARGUMENT… SP PC", "-1 SP PC" or "running". 0 or -EINVAL. */
int proc_call_parse(const char *line, struct proc_call *out);
/* The same of a thread's file. Also -errno. */
int proc_call_load(const struct proc *p, struct proc_call *out);

#endif
