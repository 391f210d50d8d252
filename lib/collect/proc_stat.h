/* /proc/stat: time of CPUs by state, context switches, tasks. Source: fs/proc/stat.c. */
#ifndef COLLECT_PROC_STAT_H
#define COLLECT_PROC_STAT_H

#include "collect/source.h"

/*
 * All time is USER + SYSTEM + IDLE + IOWAIT + IRQ + SOFTIRQ + STEAL. A guest's time is in USER, a
 * nice guest's in NICE too, as in the kernel; nothing is counted twice. IRQ and SOFTIRQ are in no
 * other.
 */
enum proc_stat_field {
	PROC_STAT_UTILIZATION, /* each CPU; base: all time */
	PROC_STAT_USER,        /* NICE included */
	PROC_STAT_SYSTEM,
	PROC_STAT_IOWAIT,
	PROC_STAT_NICE,
	PROC_STAT_IDLE,
	PROC_STAT_IRQ,
	PROC_STAT_SOFTIRQ,
	PROC_STAT_STEAL,
	PROC_STAT_CTXT,          /* from here on, of the whole machine */
	PROC_STAT_PROCESSES,     /* forks and clones, cumulative */
	PROC_STAT_PROCS_RUNNING, /* tasks that run or are ready to, now */
	PROC_STAT_PROCS_BLOCKED, /* tasks that wait for a disk, now */
};

extern const struct collect_source proc_stat_source;

/* The time of all CPUs together, in ticks, that was neither idle nor another virtual machine's:
 * USER, SYSTEM, IRQ and SOFTIRQ. text: the first line at least. 0 or -EINVAL. */
int proc_stat_parse_all(const char *text, size_t len, uint64_t *ticks);

#endif
