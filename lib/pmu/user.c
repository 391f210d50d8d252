#include "pmu/user.h"

#include "base/perf_abi.h"

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
