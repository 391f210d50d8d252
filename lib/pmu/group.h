/*
 * One perf_event group on one CPU or of one task: a leader and its siblings, scheduled together and
 * read with one system call. Knows nothing of sessions.
 */
#ifndef PMU_GROUP_H
#define PMU_GROUP_H

#include "pmu/ops.h"

#include <stdbool.h>
#include <stdint.h>

struct perf_event_attr;

enum { PMU_GROUP_MAX_MEMBERS = 32 };

struct pmu_member {
	uint32_t event; /* the caller's index */
	int fd;
	bool has_lost; /* its readings have lost (PERF_FORMAT_LOST) */
};

/* The caller's storage; the descriptors are owned. */
struct pmu_group {
	const struct pmu_ops *ops;
	pid_t pid; /* the task, or the descriptor of the cgroup; -1: all */
	int cpu;   /* -1: any, of a task */
	bool is_cgroup;
	bool is_open_enabled; /* events count from their opening, and exec enables none */
	bool is_disabled;
	bool is_read_by_user; /* of one task, which may read it by pmu/user.h */
	uint32_t nr_members;
	/* Set by pmu_group_read: */
	uint64_t enabled_ns, running_ns; /* of the last reading, cumulative */
	uint64_t waited_ns; /* time enabled since the last reading that found it had run */
	bool waits;         /* it ran for less than all of the time between the last two readings */
	bool is_off;        /* it is in the kernel's error state: -ENODATA */
	struct pmu_member members[PMU_GROUP_MAX_MEMBERS]; /* the leader first */
};

/* One member's part of a reading; cumulative. */
struct pmu_count {
	uint64_t raw, enabled_ns, running_ns;
	uint64_t lost; /* samples that found no room; UINT64_MAX: not known */
};

/* A group that counts all tasks on a CPU. */
void pmu_group_init(struct pmu_group *g, const struct pmu_ops *ops, int cpu);
/* A group that counts one task and, if the attrs have inherit, those that it creates later; cpu -1:
 * on any CPU. */
void pmu_group_init_task(struct pmu_group *g, const struct pmu_ops *ops, pid_t pid, int cpu);
/* Of the tasks in a cgroup and below, on a CPU. fd: its folder; borrowed until the events are open.
 */
void pmu_group_init_cgroup(struct pmu_group *g, const struct pmu_ops *ops, int fd, int cpu);
/* Closes what is open; the group is as after init. */
void pmu_group_fini(struct pmu_group *g);

/* Opens attr as a further member (the first one leads), not yet counting, except with
 * is_open_enabled. 0 or -errno; -ENOSPC if
 * the group has PMU_GROUP_MAX_MEMBERS. With -EINVAL and members already, it may fit elsewhere. */
int pmu_group_add(struct pmu_group *g, const struct perf_event_attr *attr, uint32_t event);

/* Closes the members and opens those that like had, with attrs[event]. 0 or -errno: see
 * pmu_group_add. */
int pmu_group_reopen(struct pmu_group *g, const struct pmu_group *like,
		     struct perf_event_attr *const *attrs);

/* All members start counting at once; 0 or -errno. */
int pmu_group_enable(struct pmu_group *g);
/* They stop, in what tasks inherited too; their counts stay. 0 or -errno. */
int pmu_group_disable(struct pmu_group *g);

/*
 * Reads all members with one call into counts[nr_members]. 0; -ENODEV if the kernel returned fewer
 * members: the CPU went away (perf_event_exit_cpu); -ENODATA if it returned none: a pinned event
 * found no counter, and counts nothing until it is enabled again; -ECHILD: a thread was created
 * while the group was opened, has inherited a part of it, and lives; -errno. On failure counts are
 * untouched.
 */
int pmu_group_read(struct pmu_group *g, struct pmu_count *counts);

/* The id of the member in the kernel's records; 0 or -errno. */
int pmu_group_id(const struct pmu_group *g, uint32_t member, uint64_t *id);
/* True if this user may measure his own tasks in user mode, but not in the kernel. Found by opening
 * events: kernels differ in what perf_event_paranoid means. */
bool pmu_is_user_only(const struct pmu_ops *ops);
/* True if this kernel has PERF_FORMAT_LOST (6.0), or inherit_thread (5.13); tried with an event
 * that counts nothing. */
bool pmu_has_format_lost(const struct pmu_ops *ops);
bool pmu_has_inherit_thread(const struct pmu_ops *ops);
/* False if this user has no permission to measure the process in user mode, or the kernel has no
 * such events; pid 0: his own. */
bool pmu_may_measure(const struct pmu_ops *ops, pid_t pid);

/* Reads the members one by one, as they are after their CPU went away: detached from one another,
 * frozen. counts[i] is set where the result's bit i is 1. */
uint32_t pmu_group_read_detached(const struct pmu_group *g, struct pmu_count *counts);

#endif
