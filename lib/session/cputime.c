/*
 * A POSIX CPU timer covers one process: with a grandchild, 3 of 9 expected expirations came. An
 * inherited task-clock event counts all that the tasks start.
 */
#include "session/cputime.h"

#include "base/mem.h"
#include "base/perf_abi.h"

#include <errno.h>

static int add_counter(struct cputime *c, const struct plan *plan, const struct pmu_ops *pmu,
		       size_t target, int cpu)
{
	const struct plan_target *t = &plan->target;
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_TASK_CLOCK,
				       .read_format = PERF_FORMAT_GROUP |
						      PERF_FORMAT_TOTAL_TIME_ENABLED |
						      PERF_FORMAT_TOTAL_TIME_RUNNING,
				       .inherit = !t->is_cgroup,
				       .inherit_thread = !t->is_cgroup && t->is_process_only,
				       .exclude_kernel = t->is_user_only,
				       .exclude_hv = t->is_user_only};
	struct pmu_group *g = MEM_ADD(c->groups, c->nr_groups, c->group_room);
	int rc;

	if (!g)
		return -ENOMEM;
	if (t->is_cgroup)
		pmu_group_init_cgroup(g, pmu, t->ids[target], cpu);
	else
		pmu_group_init_task(g, pmu, t->ids[target], cpu);
	g->is_open_enabled = true;
	rc = pmu_group_add(g, &attr, 0);
	if (rc)
		pmu_group_fini(&c->groups[--c->nr_groups]);
	return rc == -ESRCH ? 0 : rc; /* the task has just ended */
}

int cputime_open(struct cputime *c, const struct plan *plan, const struct pmu_ops *pmu)
{
	const struct cpuset *online = &plan->host->online;
	int rc = 0;

	for (size_t i = 0; i < plan->target.nr_ids && rc == 0; i++) {
		if (!plan->target.is_cgroup)
			rc = add_counter(c, plan, pmu, i, -1);
		for (int cpu = cpuset_next(online, 0);
		     plan->target.is_cgroup && cpu >= 0 && rc == 0;
		     cpu = cpuset_next(online, (unsigned)cpu + 1))
			rc = add_counter(c, plan, pmu, i, cpu);
	}
	if (rc)
		cputime_close(c);
	return rc;
}

void cputime_close(struct cputime *c)
{
	while (c->nr_groups)
		pmu_group_fini(&c->groups[--c->nr_groups]);
	mem_free(c->groups);
	*c = (struct cputime){0};
}

uint64_t cputime_ns(struct cputime *c)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < c->nr_groups; i++) {
		struct pmu_count count;

		if (pmu_group_read(&c->groups[i], &count) == 0)
			sum_ns += count.raw;
	}
	if (sum_ns > c->last_ns)
		c->last_ns = sum_ns;
	return c->last_ns;
}
