/*
 * Processes as a source of many things: CPU time, memory and disk I/O of each.
 */
#ifndef PROCESS_PROCESS_H
#define PROCESS_PROCESS_H

#include "things/many.h"

/* Of a whole process with all its threads. Counters never decrease. */
enum process_field {
	PROCESS_CPU_TIME,  /* ns on a CPU; a counter */
	PROCESS_RUN_DELAY, /* ns runnable but waiting for a CPU; a counter */
	PROCESS_RSS,       /* bytes, like the next two */
	PROCESS_VMS,
	PROCESS_SHARED,
	PROCESS_READ_BYTES,  /* from disks, not from the page cache; a counter */
	PROCESS_WRITE_BYTES, /* to disks, counted when a page becomes dirty; a counter */
	PROCESS_THREADS,
	PROCESS_MINOR_FAULTS, /* a counter */
	PROCESS_MAJOR_FAULTS, /* a counter */
	PROCESS_FDS,
	PROCESS_FAULTS,   /* minor and major; a counter */
	PROCESS_PEAK_RSS, /* bytes; the largest since its exec */
	PROCESS_NR_FIELDS
};

/*
 * Words of the choice: a number, "0" (the caller), "all", or "name:GLOB" (fnmatch(3) on the
 * command). The default is all. A number that is not in use is noted, and read once a process has
 * it; -ENOENT if the choice has numbers only and none is in use. A process that ended is dropped;
 * one that has its number later is a new thing. Kernel threads and zombies are things too, without
 * memory.
 *
 * A thing's name is "PID COMMAND", or "PID" if the command may not be read. After exec the name,
 * and a choice by it, follow at the next reading after the process's clock has moved: within a tick
 * of its CPU (10 ms at most), or when it stops; if all processes are chosen, within a second. In a
 * captured /proc, or that of another PID namespace: within a few readings at first, later
 * within 64.
 *
 * PROCESS_CPU_TIME is the process's own clock, which includes all threads that ended. In a captured
 * /proc, or that of another PID namespace, it is the sum over threads, as PROCESS_RUN_DELAY always
 * is: without what a thread did after its last reading. collect_thing.nr_missed counts such
 * threads.
 *
 * What only the process itself can change (run delay, bytes, faults, threads) is not read while its
 * clock stands still: it shows within a tick of its CPU (10 ms at most) after the process wakes, or
 * when it stops.
 *
 * Descriptors: at most half of the soft limit at open; further files are opened for each reading,
 * and a note reports it. Not thread-safe.
 */
extern const struct things_source process_source;

#endif
