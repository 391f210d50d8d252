/*
 * Small files of /proc/PID. Sources: fs/proc/array.c (statm), fs/proc/base.c (io, schedstat,
 * syscall). The parsers return 0, -EINVAL or -ERANGE.
 */
#ifndef PROC_TEXT_H
#define PROC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc;

struct proc_statm {
	uint64_t size, resident, shared; /* pages */
};

struct proc_io {
	uint64_t read_bytes, write_bytes; /* from and to devices */
};

/* Of one thread: /proc/PID/schedstat is that of the first thread. */
struct proc_schedstat {
	uint64_t cpu_ns, delay_ns, nr_runs;
};

int proc_statm_parse(const char *text, size_t len, struct proc_statm *out);
int proc_io_parse(const char *text, size_t len, struct proc_io *out);
int proc_schedstat_parse(const char *text, size_t len, struct proc_schedstat *out);

/* The same of the file of a process, or of a thread. Also -errno. */
int proc_statm_load(const struct proc *p, struct proc_statm *out);
int proc_schedstat_load(const struct proc *p, struct proc_schedstat *out);

#endif
