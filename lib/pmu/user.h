/*
 * Counters that the thread which they count reads by itself, without a system call: x86's rdpmc,
 * and arm64 where /proc/sys/kernel/perf_user_access is 1.
 */
#ifndef PMU_USER_H
#define PMU_USER_H

#include "pmu/ops.h"

/* Opens the event for a task, in the group of leader (-1: none), so that the task may read it by
 * itself where that is possible. As pmu_ops.open. */
int pmu_user_open(const struct pmu_ops *ops, struct perf_event_attr *attr, pid_t task, int leader);

#endif
