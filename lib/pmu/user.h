/*
 * Counters that the thread which they count reads by itself, without a system call: x86's rdpmc,
 * and arm64 where /proc/sys/kernel/perf_user_access is 1.
 */
#ifndef PMU_USER_H
#define PMU_USER_H

#include "pmu/group.h"

/* Opens the event for a task, in the group of leader (-1: none), so that the task may read it by
 * itself where that is possible. As pmu_ops.open. */
int pmu_user_open(const struct pmu_ops *ops, struct perf_event_attr *attr, pid_t task, int leader);

/* The kernel's pages of a group's members. Zeroes: there are none. */
struct pmu_user {
	const struct pmu_ops *ops;
	void *pages[PMU_GROUP_MAX_MEMBERS]; /* owned */
	uint32_t nr;
};

/* Maps the pages, if each member may be read in this way. 0 or -errno; then there are none. */
int pmu_user_map(struct pmu_user *u, const struct pmu_group *g);
void pmu_user_unmap(struct pmu_user *u);
/* Reads the members one after the other, in the thread that they count, as pmu_group_read does at
 * once. False: only that can, as of a group that is disabled or waits for counters. */
bool pmu_user_read(const struct pmu_user *u, struct pmu_group *g, struct pmu_count *counts);

#endif
