/*
 * Idle time of CPUs.
 */
#include "values/idle.h"

#include "base/mem.h"
#include "collect/collect.h"
#include "host/host.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

/* The first PID namespace has a fixed number: PROC_PID_INIT_INO in include/linux/proc_ns.h. */
static bool is_in_pid_namespace(void)
{
	char text[64] = "";

	return readlink("/proc/self/ns/pid", text, sizeof(text) - 1) > 0 &&
	       strcmp(text, "pid:[4026531836]") != 0;
}

int idle_init(struct idle *i, const struct host *host, uint32_t nr_traces)
{
	int state;

	*i = (struct idle){.host = host, .is_contained = is_in_pid_namespace()};
	i->last_ns = mem_calloc(nr_traces, sizeof(*i->last_ns));
	if (!i->last_ns)
		return -ENOMEM;
	for (size_t k = 0; k < collect_misc_group.nr_rows; k++)
		if (strcmp(collect_misc_group.rows[k].name, "cpu_utilization") == 0)
			i->event = (struct event){&collect_misc_group, &collect_misc_group.rows[k]};
	return collect_open(&host->root, &i->event, NULL, 1, &i->collect, &state);
}

void idle_fini(struct idle *i)
{
	collect_close(i->collect);
	mem_free(i->last_ns);
	*i = (struct idle){0};
}

void idle_read(struct idle *i)
{
	collect_read(i->collect);
}

/* cpu_utilization is the busy part of all time; the rest of its base is idle time. */
uint64_t idle_since(struct idle *i, uint32_t trace, uint32_t cpu)
{
	uint64_t hz = i->host->user_hz, last_ns = i->last_ns[trace], now_ns = UINT64_MAX;
	struct reading r = {0};

	collect_get(i->collect, 0, cpu, &r);
	if (!i->is_contained && r.state == READING_OK && r.base >= r.raw && hz)
		now_ns = (r.base - r.raw) * (NS_PER_S / hz);
	i->last_ns[trace] = now_ns;
	return last_ns <= now_ns && now_ns != UINT64_MAX ? now_ns - last_ns : UINT64_MAX;
}
