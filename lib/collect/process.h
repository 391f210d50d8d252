/*
 * Processes as a source of many things: what each has used of the CPUs, of memory and of disks. The
 * rows of misc that show these fields are made elsewhere.
 */
#ifndef COLLECT_PROCESS_H
#define COLLECT_PROCESS_H

#include "collect/many.h"

/* Of a whole process, all its threads. Counters never go back. */
enum process_field {
	PROCESS_CPU_TIME,  /* ns on a CPU; a counter */
	PROCESS_RUN_DELAY, /* ns runnable but waiting for a CPU; a counter */
	PROCESS_RSS,       /* bytes, like the next two */
	PROCESS_VMS,
	PROCESS_SHARED,
	PROCESS_READ_BYTES,  /* from disks, not from the page cache; a counter */
	PROCESS_WRITE_BYTES, /* what will go to disks, when it was made dirty; a counter */
	PROCESS_THREADS,
	PROCESS_MINOR_FAULTS, /* a counter */
	PROCESS_MAJOR_FAULTS, /* a counter */
	PROCESS_FDS,
	PROCESS_FAULTS, /* minor and major; a counter */
	PROCESS_NR_FIELDS
};

/*
 * Words of the choice: a number (if there is none of the processes that are named, and nothing else
 * is asked for: -ENOENT; one that is missing is noted, and read when it comes), "0" (the caller's
 * own), "all", "name:GLOB" (of the command, as fnmatch(3) matches it). The default is all. A
 * process that ended is dropped; one that has its number later is a new thing. Threads of the
 * kernel are things too, with no memory; so are zombies.
 *
 * A thing's name is "PID COMMAND" ("PID" where the command may not be read). A process that starts
 * another program changes its name: that, and a choice by it, follow at the next reading after
 * its clock has moved: a tick of its CPU (10 ms at most), or when it stops; where all are chosen
 * and the name is but a label, within a second. (On a captured /proc, and on one of another PID
 * namespace: within a few readings after it was first seen, later within 64.)
 *
 * PROCESS_CPU_TIME is the process's own clock: threads that ended are in it, also those that no
 * reading saw. On a captured /proc, and on one of another PID namespace, it is the sum over
 * threads, as PROCESS_RUN_DELAY always is: what threads did between the last reading that saw them
 * and their end is not in it. It is counted how often that was so (collect_thing.nr_missed).
 *
 * What only the process itself can change (run delay, bytes, faults, threads) is not read while its
 * clock stands still: what it does when it wakes shows after a tick of its CPU (10 ms at most), or
 * when it stops.
 *
 * Descriptors: at most half of the soft limit at open; files beyond that are opened anew for each
 * reading, and a note says so. One thread at a time.
 */
extern const struct collect_many_source collect_process_source;

#endif
