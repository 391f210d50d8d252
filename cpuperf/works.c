/*
 * Asks whoever measures the event.
 */
#include "works.h"

#include "collect/collect.h"
#include "pmu/probe.h"

void event_works(const struct host *h, struct pmu_probe *probe, const struct event *ev,
		 struct event_support *out)
{
	if (event_is_perf(ev))
		pmu_probe_event(probe, ev, out);
	else
		collect_check(h, ev, NULL, out);
}
