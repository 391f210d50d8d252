/*
 * Running processes as a target: chosen by pid or by name, with the processes below them, and their
 * threads.
 *
 * Each thread has its own events, which what it creates inherits; session/cpu.c adds their counts
 * up. A thread that is created meanwhile may have inherited some of them: so the threads are
 * compared before and after (cpuperf/record.c), and the events opened again. Events are opened
 * enabled: enabling them later leaves disabled the copy of a thread that is created meanwhile, and
 * at a switch the kernel exchanges the two. Targets are checked after their events are open and
 * before they count, as a process number may have changed hands. A control group has events on
 * each CPU, as the machine has.
 */
#ifndef TARGET_TASKS_H
#define TARGET_TASKS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct root;

/* Borrowed. A process is chosen if its number or a glob names it. */
struct target_choice {
	const char *const *pids;  /* decimal */
	const char *const *comms; /* shell globs over the whole name, case-sensitive */
	size_t nr_pids, nr_comms;
	bool has_children;
	bool (*may_measure)(pid_t pid); /* NULL: all may be measured */
};

/* Sorted by number. */
struct target_tasks {
	/* owned; the processes that were chosen, and those below one that may not be measured */
	pid_t *chosen;
	size_t nr_chosen;
	pid_t *processes; /* owned; these, and with has_children all below them */
	size_t nr_processes;
	pid_t *threads; /* owned; all threads of processes */
	size_t nr_threads;
	pid_t *refused; /* owned; of those named or below, what may not be measured: in no other
			   list */
	size_t nr_refused;
};

/* Reads /proc. This process and the processes above it are never chosen by name. 0, or -errno with
 * *e: -ESRCH if a pid does not exist, or no process has the name; -EACCES if a process that is
 * chosen by its pid, or each that has the name, may not be measured. */
int target_tasks_find(const struct root *root, const struct target_choice *choice,
		      struct target_tasks *out, struct err *e);
void target_tasks_fini(struct target_tasks *t);
/* Whether this user may read the memory of each process with rights of his own alone, as
 * ptrace_may_access() decides: what runs for another user, or has more rights, may not be measured
 * by the rights of the program's file. 0; -EACCES with *e, which names the process; -ESRCH with *e
 * if one is not there. */
int target_tasks_check_own(const struct root *root, const struct target_tasks *t, struct err *e);
/* How many threads of now are not among those of before. */
size_t target_tasks_new(const struct target_tasks *before, const struct target_tasks *now);

#endif
