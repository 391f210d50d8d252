/*
 * From an event to the kernel's perf_event_attr.
 */
#include "base/mem.h"
#include "event/event.h"
#include "spec/spec.h"

#include <linux/perf_event.h>

struct perf_event_attr *event_attr_new(const struct event_part *part, unsigned flags)
{
	unsigned modes = flags & (SPEC_OS | SPEC_USER);
	struct perf_event_attr *a = mem_zalloc(sizeof(*a));

	if (!a)
		return NULL;
	a->size = sizeof(*a);
	a->type = part->type;
	a->config = part->config;
	a->config1 = part->config1;
	a->config2 = part->config2;
	a->read_format =
	    PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a->exclude_kernel = modes == SPEC_USER;
	a->exclude_user = modes == SPEC_OS;
	/* the hypervisor's share goes with the kernel's where hardware can tell them apart */
	a->exclude_hv = a->exclude_kernel;
	return a;
}

uint32_t event_attr_bytes(const struct perf_event_attr *attr)
{
	return attr->size;
}

bool event_may_be_fixed(const struct event *ev)
{
	const struct event_row *r = ev->row;

	return (ev->group->id == EVENT_GROUP_FIXED || ev->group->id == EVENT_GROUP_ARCH) &&
	       r->perf_type == PERF_TYPE_HARDWARE &&
	       (r->perf_config == PERF_COUNT_HW_INSTRUCTIONS ||
		r->perf_config == PERF_COUNT_HW_CPU_CYCLES ||
		r->perf_config == PERF_COUNT_HW_REF_CPU_CYCLES);
}
