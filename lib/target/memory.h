/*
 * The largest amount of memory that a target's processes had present at the same time.
 *
 * A thread reads /proc at a steady pace, so a short peak can be missed: the result is a lower bound
 * of the largest sum of RSS. It uses at most 1 % of a CPU: with many processes it reads less often.
 * The kernel's own peak of a control group is exact, where there is one.
 *
 * RSS counts a page that processes share in each of them. A process that shares all memory with its
 * parent (vfork) is not counted. A process is followed from the first reading that finds it below
 * one that is followed, also when its parent has ended.
 *
 * From the same files are the processes' times and faults, and what still runs at the end; where
 * no event may count them, the context switches (switches.h); and which have more rights than the
 * user: the kernel ended their events at exec (where there are records, an exec followed by an end
 * before anything is mapped says the same). With the target's memory_map processes are passed on
 * to collect/memory_map.h.
 */
#ifndef TARGET_MEMORY_H
#define TARGET_MEMORY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct root;
struct target_memory;

struct target_memory_config {
	const struct root *root; /* borrowed */
	const pid_t *pids;       /* the first processes; need not outlive target_memory_new */
	size_t nr_pids;
	bool has_children;  /* also what they start */
	int cgroup;         /* the descriptor of its folder, borrowed; -1: processes */
	uint64_t period_ns; /* between two readings; at least 10 ms are used */
	uint64_t page_bytes;
	bool counts_all;   /* what is used counts from the start of the first processes */
	bool has_switches; /* also reads each thread's context switches */
	/* Called by the thread, and by target_memory_pass, with the processes that have memory of
	 * their own: not with a command before its exec. NULL: not called. */
	void (*on_processes)(void *arg, const pid_t *pids, size_t nr);
	void *arg;
};

/* Bytes; 0: nothing was read. */
struct target_peak {
	uint64_t bytes;
	uint32_t nr_processes; /* that had them; 0: of a control group by its own numbers */
	bool is_of_cgroup; /* as the control group counts: with its page cache and the kernel's */
	bool is_exact;     /* else a lower bound */
};

/* No thread yet. 0 or -ENOMEM. */
int target_memory_new(const struct target_memory_config *config, struct target_memory **out);
/* 0 or -errno. */
int target_memory_start(struct target_memory *m);
/* Reads once, as the thread does; not while it runs. */
void target_memory_read(struct target_memory *m);
/* Calls on_processes with those of the last reading; of a cgroup with those that there are now. For
 * any thread. */
void target_memory_pass(struct target_memory *m);
/* The peak since the last call, or since the start. One thread calls it. */
void target_memory_take(struct target_memory *m, struct target_peak *out);
/* Of all processes since the first reading, as far as readings saw it: a lower bound. */
struct target_used {
	uint64_t user_ns, system_ns, minor_faults, major_faults;
	uint64_t switches;
	bool are_switches_all; /* else a lower bound */
};
/* Reads the processes once more. Zero for a control group. For any thread. */
void target_memory_used(struct target_memory *m, struct target_used *out);
/* Reads the processes once more. Returns how many run, except one, and appends the first max of
 * them to names: "12 (sleep), 13 (sh)". One that was forked and lost its parent between two
 * readings is not found. Not of a control group. For any thread. */
struct buf;
size_t target_memory_list(struct target_memory *m, pid_t except, size_t max, struct buf *names);
/* Returns how many processes have been found, at any reading, whose program has more rights than
 * this user, or for root than the process that called exec, so that the kernel has ended their
 * events; appends the first of them, as above. Not those that such a process made. None for root
 * before Linux 5.7. */
size_t target_memory_hidden(struct target_memory *m, struct buf *names);
void target_memory_free(struct target_memory *m); /* NULL is fine */

#endif
