/* /proc/stat: time of CPUs by state, context switches, tasks. Source: fs/proc/stat.c. */
#ifndef THINGS_MACHINE_STAT_H
#define THINGS_MACHINE_STAT_H

#include "things/source.h"

/*
 * All time is USER + SYSTEM + IDLE + IOWAIT + IRQ + SOFTIRQ + STEAL. A guest's time is in USER, a
 * nice guest's in NICE too, as in the kernel; nothing is counted twice. IRQ and SOFTIRQ are in no
 * other.
 */
enum machine_stat_field {
	MACHINE_STAT_UTILIZATION, /* each CPU; base: all time */
	MACHINE_STAT_USER,        /* NICE included */
	MACHINE_STAT_SYSTEM,
	MACHINE_STAT_IOWAIT,
	MACHINE_STAT_NICE,
	MACHINE_STAT_IDLE,
	MACHINE_STAT_IRQ,
	MACHINE_STAT_SOFTIRQ,
	MACHINE_STAT_STEAL,
	MACHINE_STAT_CTXT,          /* from here on, of the whole machine */
	MACHINE_STAT_PROCESSES,     /* forks and clones, cumulative */
	MACHINE_STAT_PROCS_RUNNING, /* tasks that run or are ready to, now */
	MACHINE_STAT_PROCS_BLOCKED, /* tasks that wait for a disk, now */
};

extern const struct collect_source machine_stat_source;

/* The time of all CPUs together, in ticks, that was neither idle nor another virtual machine's:
 * USER, SYSTEM, IRQ and SOFTIRQ. text: the first line at least. 0 or -EINVAL. */
int machine_stat_parse_all(const char *text, size_t len, uint64_t *ticks);

#endif
