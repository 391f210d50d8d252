#include "api/usage.h"

#include "base/array.h"
#include "base/clock.h"
#include "event/event.h"

#include <string.h>
#include <sys/resource.h>

static uint64_t faults(const struct rusage *u)
{
	return (uint64_t)u->ru_minflt + (uint64_t)u->ru_majflt;
}

static uint64_t minor_faults(const struct rusage *u)
{
	return (uint64_t)u->ru_minflt;
}

static uint64_t major_faults(const struct rusage *u)
{
	return (uint64_t)u->ru_majflt;
}

static uint64_t switches(const struct rusage *u)
{
	return (uint64_t)u->ru_nvcsw + (uint64_t)u->ru_nivcsw;
}

/* Of the group software. */
static const struct {
	const char *name;
	uint64_t (*of)(const struct rusage *u); /* NULL: the CPU clock */
} counted[] = {
    {"task_clock", NULL},           {"page_faults", faults},        {"minor_faults", minor_faults},
    {"major_faults", major_faults}, {"context_switches", switches},
};

static int find(const struct event *ev)
{
	for (size_t i = 0; i < ARRAY_NR(counted); i++)
		if (ev->group->id == EVENT_GROUP_SOFTWARE &&
		    strcmp(ev->row->name, counted[i].name) == 0)
			return (int)i;
	return -1;
}

bool api_usage_has(const struct event *ev)
{
	return find(ev) >= 0;
}

uint64_t api_usage_read(const struct event *ev, enum api_usage_of of)
{
	bool is_thread = of == API_USAGE_OF_THREAD;
	int i = find(ev);
	struct rusage u;

	if (i < 0)
		return 0;
	if (!counted[i].of)
		return is_thread ? clock_thread_cpu_ns() : clock_process_cpu_ns();
	return getrusage(is_thread ? RUSAGE_THREAD : RUSAGE_SELF, &u) ? 0 : counted[i].of(&u);
}
