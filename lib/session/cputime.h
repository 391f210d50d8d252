/*
 * The CPU time of all tasks of a target: a clock that stands still while they sleep. Counters of
 * its own, which are never disabled, so that it runs while a session does not measure.
 */
#ifndef SESSION_CPUTIME_H
#define SESSION_CPUTIME_H

#include "plan/plan.h"
#include "pmu/group.h"

struct cputime {
	struct pmu_group *groups; /* owned; one for each task, or for each CPU of a cgroup */
	size_t nr_groups, group_room;
	uint64_t last_ns; /* the last reading: the clock never goes back */
};

/* Opens the counters of the plan's target, which begin now. 0 or -errno; then nothing is open. */
int cputime_open(struct cputime *c, const struct plan *plan, const struct pmu_ops *pmu);
void cputime_close(struct cputime *c); /* zeroes are fine */
/* What the tasks used since cputime_open, those that have ended included. */
uint64_t cputime_ns(struct cputime *c);

#endif
