/*
 * The context switches of processes, from /proc/PID/task/TID/status of each of their threads.
 */
#ifndef TARGET_SWITCHES_H
#define TARGET_SWITCHES_H

#include "base/dict.h"

#include <stdbool.h>
#include <stdint.h>

struct root;

struct target_switches {
	const struct root *root; /* borrowed */
	struct dict threads;     /* of the last reading */
	struct dict now;         /* of the reading in progress */
	size_t nr_same;          /* in both */
	uint64_t nr;             /* since the first reading; of a thread that began later all */
	uint64_t nr_forks;       /* of the machine, at the first reading; 0: unknown */
	bool has_read, misses_some;
};

/* counts_all: what threads of the first reading had before counts too. */
void target_switches_init(struct target_switches *s, const struct root *root, bool counts_all);
void target_switches_fini(struct target_switches *s);
/* A reading: of each process, then the end. */
void target_switches_read(struct target_switches *s, uint32_t pid);
void target_switches_end(struct target_switches *s);
/* Whether nr has all: no thread ended, and none was created on this machine, so that none can have
 * come and gone between two readings. Else it is a lower bound. */
bool target_switches_are_all(const struct target_switches *s);

#endif
