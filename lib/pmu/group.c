/*
 * A perf_event group.
 */
#include "pmu/group.h"

#include "base/perf_abi.h"
#include "pmu/user.h"

#include <errno.h>
#include <string.h>

/* read(2) of a group: nr, time_enabled, time_running, then for each member its value and, if the
 * one that is read asked for it, what it lost (perf_read_group() in kernel/events/core.c). */
enum { WORD_NR, WORD_ENABLED, WORD_RUNNING, WORD_VALUES };

void pmu_group_init(struct pmu_group *g, const struct pmu_ops *ops, int cpu)
{
	pmu_group_init_task(g, ops, -1, cpu);
}

void pmu_group_init_task(struct pmu_group *g, const struct pmu_ops *ops, pid_t pid, int cpu)
{
	*g = (struct pmu_group){.ops = ops, .pid = pid, .cpu = cpu};
}

void pmu_group_init_cgroup(struct pmu_group *g, const struct pmu_ops *ops, int fd, int cpu)
{
	*g = (struct pmu_group){.ops = ops, .pid = fd, .cpu = cpu, .is_cgroup = true};
}

void pmu_group_fini(struct pmu_group *g)
{
	/* siblings first: closing a leader would make each of them a leader in the kernel */
	while (g->nr_members)
		g->ops->close(g->members[--g->nr_members].fd);
}

int pmu_group_add(struct pmu_group *g, const struct perf_event_attr *attr, uint32_t event)
{
	bool leads = g->nr_members == 0;
	struct perf_event_attr a = *attr;
	int fd;

	if (g->nr_members == PMU_GROUP_MAX_MEMBERS)
		return -ENOSPC;
	a.disabled = leads && !g->is_open_enabled;
	/* ARM's validate_event() (drivers/perf/arm_pmu.c) gives a disabled leader no counter unless
	 * this bit is set: a group with one member too many would be accepted, and never run. On
	 * events of a whole CPU it has no other effect. */
	a.enable_on_exec = leads && !g->is_open_enabled;
	fd = g->is_read_by_user ? pmu_user_open(g->ops, &a, g->pid, leads ? -1 : g->members[0].fd)
				: g->ops->open(&a, g->pid, g->cpu, leads ? -1 : g->members[0].fd,
					       g->is_cgroup ? PERF_FLAG_PID_CGROUP : 0);
	if (fd < 0)
		return fd;
	g->members[g->nr_members++] = (struct pmu_member){
	    .event = event, .fd = fd, .has_lost = attr->read_format & PERF_FORMAT_LOST};
	return 0;
}

int pmu_group_reopen(struct pmu_group *g, const struct pmu_group *like,
		     struct perf_event_attr *const *attrs)
{
	int rc = 0;

	pmu_group_fini(g);
	for (uint32_t i = 0; i < like->nr_members && rc == 0; i++)
		rc = pmu_group_add(g, attrs[like->members[i].event], like->members[i].event);
	return rc;
}

int pmu_group_enable(struct pmu_group *g)
{
	g->is_disabled = false;
	return g->nr_members ? g->ops->ioctl(g->members[0].fd, PERF_EVENT_IOC_ENABLE, 0) : 0;
}

int pmu_group_disable(struct pmu_group *g)
{
	g->is_disabled = true;
	return g->nr_members ? g->ops->ioctl(g->members[0].fd, PERF_EVENT_IOC_DISABLE, 0) : 0;
}

/* Reads m. -ENODEV: its group has another number of members than nr. */
static int read_members(const struct pmu_group *g, const struct pmu_member *m, uint32_t nr,
			struct pmu_count *counts)
{
	uint64_t words[WORD_VALUES + 2 * PMU_GROUP_MAX_MEMBERS];
	const uint64_t *at = words + WORD_VALUES;
	size_t len = (WORD_VALUES + nr * (m->has_lost ? 2 : 1)) * sizeof(words[0]);
	ssize_t n;

	do
		n = g->ops->read(m->fd, words, len);
	while (n == -EINTR);
	if (n < 0)
		return (int)n;
	if (n == 0) /* __perf_read() of an event in the error state */
		return -ENODATA;
	if ((size_t)n != len || words[WORD_NR] != nr)
		return -ENODEV;
	for (uint32_t i = 0; i < nr; i++) {
		counts[i] = (struct pmu_count){.raw = *at++,
					       .enabled_ns = words[WORD_ENABLED],
					       .running_ns = words[WORD_RUNNING],
					       .lost = UINT64_MAX};
		if (m->has_lost)
			counts[i].lost = *at++;
	}
	return 0;
}

int pmu_group_read(struct pmu_group *g, struct pmu_count *counts)
{
	uint64_t enabled_ns, running_ns;
	int rc;

	if (!g->nr_members)
		return 0;
	rc = read_members(g, &g->members[0], g->nr_members, counts);
	g->is_off = rc == -ENODATA;
	if (rc)
		return rc;
	enabled_ns = counts[0].enabled_ns - g->enabled_ns;
	running_ns = counts[0].running_ns - g->running_ns;
	g->waits = running_ns < enabled_ns;
	g->waited_ns = running_ns ? 0 : g->waited_ns + enabled_ns;
	g->enabled_ns = counts[0].enabled_ns;
	g->running_ns = counts[0].running_ns;
	return 0;
}

uint32_t pmu_group_read_detached(const struct pmu_group *g, struct pmu_count *counts)
{
	uint32_t got = 0;

	for (uint32_t i = 0; i < g->nr_members; i++)
		if (read_members(g, &g->members[i], 1, &counts[i]) == 0)
			got |= 1u << i;
	return got;
}

int pmu_group_id(const struct pmu_group *g, uint32_t member, uint64_t *id)
{
	return g->ops->ioctl(g->members[member].fd, PERF_EVENT_IOC_ID, (unsigned long)id);
}

/* Opens a software event on a task and closes it. 0 or -errno. */
static int try_open(const struct pmu_ops *ops, struct perf_event_attr a, pid_t pid)
{
	int fd;

	a.size = sizeof(a);
	a.type = PERF_TYPE_SOFTWARE;
	a.disabled = 1;
	a.exclude_hv = a.exclude_kernel;
	fd = ops->open(&a, pid, -1, -1, 0);
	if (fd >= 0)
		ops->close(fd);
	return fd < 0 ? fd : 0;
}

/* Whether this user may open a software event on his own task. */
static bool can_open(const struct pmu_ops *ops, struct perf_event_attr a)
{
	return try_open(ops, a, 0) == 0;
}

bool pmu_may_measure(const struct pmu_ops *ops, pid_t pid)
{
	int rc = try_open(
	    ops, (struct perf_event_attr){.config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1}, pid);

	return rc != -EACCES && rc != -EPERM && rc != -ENOSYS;
}

bool pmu_is_user_only(const struct pmu_ops *ops)
{
	struct perf_event_attr a = {.config = PERF_COUNT_SW_TASK_CLOCK};

	if (can_open(ops, a))
		return false;
	a.exclude_kernel = 1;
	return can_open(ops, a);
}

bool pmu_has_format_lost(const struct pmu_ops *ops)
{
	return can_open(ops, (struct perf_event_attr){.config = PERF_COUNT_SW_DUMMY,
						      .read_format = PERF_FORMAT_LOST,
						      .exclude_kernel = 1});
}

bool pmu_has_inherit_thread(const struct pmu_ops *ops)
{
	return can_open(ops, (struct perf_event_attr){.config = PERF_COUNT_SW_DUMMY,
						      .inherit = 1,
						      .inherit_thread = 1,
						      .exclude_kernel = 1});
}
