/*
 * Parsers of files of /proc/PID. Sources: fs/proc/array.c (stat, statm, status), fs/proc/base.c
 * (io, schedstat). They return 0, -EINVAL or -ERANGE.
 */
#ifndef COLLECT_PROC_PID_TEXT_H
#define COLLECT_PROC_PID_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_pid_statm {
	uint64_t size, resident, shared; /* pages */
};

struct proc_pid_io {
	uint64_t read_bytes, write_bytes; /* from and to devices */
};

/* Of one thread: /proc/PID/schedstat is that of the first thread. */
struct proc_pid_schedstat {
	uint64_t cpu_ns, delay_ns, nr_runs;
};

struct proc_pid_stat {
	uint64_t minor_faults, major_faults; /* of the process, with threads that ended */
	uint64_t start_ticks;                /* since boot */
};

/* Of stat, too. */
struct proc_pid_family {
	uint64_t parent;
	bool is_zombie;                      /* or already dead */
	uint64_t minor_faults, major_faults; /* of children that were waited for, and theirs */
	uint64_t cpu_ticks;                  /* the same: user and system time */
};

/* A field of stat, numbered as in proc(5), and where its number goes. */
struct proc_pid_number {
	unsigned field;
	uint64_t *out;
};
struct proc_pid_status {
	uint64_t pid;
	size_t nr_namespaces;  /* PID namespaces from that of this /proc inwards; 0: unknown */
	uint64_t peak_rss_kib; /* VmHWM; 0: the process has no memory */
	bool is_zombie;        /* it has ended, and is not waited for */
};

int proc_pid_statm_parse(const char *text, size_t len, struct proc_pid_statm *out);
int proc_pid_io_parse(const char *text, size_t len, struct proc_pid_io *out);
int proc_pid_schedstat_parse(const char *text, size_t len, struct proc_pid_schedstat *out);
/* numbers: in ascending order, from 4 on. stat is "9817 (cat) R 9803 9803 4225 …"; the name, in
 * brackets, may itself contain brackets and spaces, other fields do not. *out is undefined on
 * failure. */
int proc_pid_stat_scan(const char *text, size_t len, const struct proc_pid_number *numbers,
		       size_t nr);
int proc_pid_stat_parse(const char *text, size_t len, struct proc_pid_stat *out);
int proc_pid_family_parse(const char *text, size_t len, struct proc_pid_family *out);
int proc_pid_status_parse(const char *text, size_t len, struct proc_pid_status *out);

#endif
