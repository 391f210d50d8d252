#include "pmu/user.h"

#include "base/perf_abi.h"

#define CPUPERF_NO_MARKS /* the reading of counters alone */
#include "cpuperf/mark.h"

#include <errno.h>
#include <unistd.h>

enum { ARM64_USER_ACCESS = 1 << 1 }; /* of config1: the format "rdpmc" of arm64's PMUs */

/* Of events of a CPU's PMU: their config1 is not the address of a text, and else 0. */
static bool may_ask(const struct perf_event_attr *attr)
{
#ifdef __aarch64__
	return !attr->config1 && attr->type != PERF_TYPE_SOFTWARE &&
	       attr->type != PERF_TYPE_TRACEPOINT && attr->type != PERF_TYPE_BREAKPOINT;
#else
	(void)attr;
	return false;
#endif
}

int pmu_user_open(const struct pmu_ops *ops, struct perf_event_attr *attr, pid_t task, int leader)
{
	bool asks = may_ask(attr);
	int fd;

	if (asks)
		attr->config1 |= ARM64_USER_ACCESS;
	fd = ops->open(attr, task, -1, leader, PERF_FLAG_FD_CLOEXEC);
	if (asks)
		attr->config1 &= ~(uint64_t)ARM64_USER_ACCESS;
	/* the PMU does not have it, or not for this event */
	if (fd < 0 && asks)
		fd = ops->open(attr, task, -1, leader, PERF_FLAG_FD_CLOEXEC);
	return fd;
}

static bool may_read(const struct perf_event_mmap_page *p)
{
	return cpuperf_mark_may_read(p) && p->cap_user_time;
}

int pmu_user_map(struct pmu_user *u, const struct pmu_group *g)
{
	*u = (struct pmu_user){.ops = g->ops};
	for (uint32_t i = 0; i < g->nr_members; i++) {
		int rc = 0;
		void *at = g->ops->mmap(g->members[i].fd, (size_t)sysconf(_SC_PAGESIZE), true, &rc);

		if (at)
			u->pages[u->nr++] = at;
		if (at && may_read(at))
			continue;
		pmu_user_unmap(u);
		return rc ?: -ENOTSUP;
	}
	return 0;
}

void pmu_user_unmap(struct pmu_user *u)
{
	while (u->nr)
		u->ops->munmap(u->pages[--u->nr], (size_t)sysconf(_SC_PAGESIZE));
}

static uint64_t read_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return 0;
#endif
}

/* The time since the page was written, as perf_event_open(2) calculates it. */
static uint64_t read_delta_ns(const volatile struct perf_event_mmap_page *p)
{
	uint64_t cycles = read_cycles(), low = (UINT64_C(1) << (p->time_shift & 63)) - 1;

	if (p->cap_user_time_short)
		cycles = p->time_cycles + ((cycles - p->time_cycles) & p->time_mask);
	return p->time_offset + (cycles >> (p->time_shift & 63)) * p->time_mult +
	       (((cycles & low) * p->time_mult) >> (p->time_shift & 63));
}

static bool read_one(const void *page, struct pmu_count *out)
{
	const volatile struct perf_event_mmap_page *p = page;
	uint32_t lock;

	do {
		uint64_t delta_ns;

		lock = p->lock;
		__asm__ volatile("" ::: "memory");
		if (!cpuperf_mark_read_page(page, &out->raw))
			return false;
		delta_ns = read_delta_ns(p);
		out->enabled_ns = p->time_enabled + delta_ns;
		out->running_ns = p->time_running + delta_ns;
		out->lost = UINT64_MAX;
		__asm__ volatile("" ::: "memory");
	} while (p->lock != lock);
	return true;
}

bool pmu_user_read(const struct pmu_user *u, struct pmu_group *g, struct pmu_count *counts)
{
	struct pmu_count read[PMU_GROUP_MAX_MEMBERS];

	for (uint32_t i = 0; i < u->nr; i++)
		if (!read_one(u->pages[i], &read[i]))
			return false;
	/* both clocks are the kernel's, but one is calculated here: it may be some ns behind */
	if (!u->nr || read[0].enabled_ns < g->enabled_ns || read[0].running_ns < g->running_ns)
		return false;
	g->waits = read[0].running_ns - g->running_ns < read[0].enabled_ns - g->enabled_ns;
	g->enabled_ns = read[0].enabled_ns;
	g->running_ns = read[0].running_ns;
	g->waited_ns = 0;
	g->is_off = false;
	for (uint32_t i = 0; i < u->nr; i++)
		counts[i] = read[i];
	return true;
}
