/*
 * /proc/TID/schedstat.
 */
#include "session/delays.h"

#include "base/clock.h"
#include "proc/proc.h"
#include "proc/text.h"

#include <string.h>

/* A reading that took longer, or in which this thread was preempted, has no certain time. */
enum { MAX_READ_NS = 1000000, NR_TRIES = 10 };

void delays_add(struct delays *d, uint32_t tid)
{
	if (d->nr < DELAYS_MAX)
		d->waiting[d->nr++] = tid;
}

/* All 0 if the kernel does not account it. */
static bool read_times(const struct root *root, uint32_t tid, struct reading *out)
{
	struct proc_schedstat s;

	if (proc_schedstat_load(PROC(root, tid), &s) || !s.nr_runs)
		return false;
	out->enabled_ns = s.cpu_ns;
	out->raw = s.delay_ns;
	out->running_ns = s.nr_runs;
	return true;
}

bool delays_read_thread(const struct root *root, uint32_t tid, struct reading *out)
{
	*out = (struct reading){.instance = tid, .state = READING_OK, .flags = READING_OF_THREAD};
	for (int i = 0; i < NR_TRIES; i++) {
		out->time_ns = clock_monotonic_ns();
		if (!read_times(root, tid, out))
			return false;
		if (clock_monotonic_ns() - out->time_ns <= MAX_READ_NS)
			return true;
	}
	return false;
}

void delays_put(struct delays *d, const struct reading *r)
{
	if (d->event == UINT32_MAX || d->nr_readings == DELAYS_MAX)
		return;
	d->readings[d->nr_readings] = *r;
	d->readings[d->nr_readings++].event = d->event;
}

void delays_read(struct delays *d)
{
	struct reading r;

	for (size_t i = 0; i < PMU_SCAN_SLOTS; i++)
		if (d->tids.slot[i])
			delays_add(d, d->tids.slot[i]);
	for (size_t i = 0; i < d->nr && d->event != UINT32_MAX && d->nr_readings < DELAYS_MAX; i++)
		if (delays_read_thread(d->root, d->waiting[i], &r))
			delays_put(d, &r);
	memset(&d->tids, 0, sizeof(d->tids));
	d->nr = 0;
}
