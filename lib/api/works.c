/*
 * What the probes of all rooms say of an event.
 */
#include "api/works.h"

#include "base/array.h"
#include "calls/calls.h"
#include "collect/collect.h"
#include "kernel/latency.h"
#include "kernel/probes.h"
#include "kernel/waits.h"
#include "kernel/ways.h"
#include "pmu/probe.h"

#include <errno.h>
#include <stdio.h>

int api_works_init(struct api_works *w, const struct host *host)
{
	*w = (struct api_works){.host = host, .probe = pmu_probe_new(host, NULL)};
	return w->probe ? 0 : -ENOMEM;
}

void api_works_fini(struct api_works *w)
{
	pmu_probe_free(w->probe);
	w->probe = NULL;
}

/* One load of the programs is for all kinds and all system calls; where the kernel refuses it, one
 * of each kind says which. */
static void check_latencies(struct api_works *w)
{
	int numbers[ARRAY_NR(w->latencies)];
	struct event_support all;

	for (size_t i = 0; i < ARRAY_NR(numbers); i++)
		numbers[i] = (int)i;
	kernel_latency_check(numbers, ARRAY_NR(numbers), &all);
	for (size_t i = 0; i < ARRAY_NR(numbers); i++) {
		if (all.state == READING_OK)
			w->latencies[i] = all;
		else
			kernel_latency_check(&numbers[i], 1, &w->latencies[i]);
	}
}

static const struct event_support *check_latency(struct api_works *w, const struct event *ev)
{
	int number = event_latency(ev);

	if (!w->has_latencies)
		check_latencies(w);
	w->has_latencies = true;
	return &w->latencies[number < EVENT_LATENCY_SYSCALL ? number : EVENT_LATENCY_SYSCALL];
}

static const struct event_support *check_waits(struct api_works *w)
{
	if (!w->has_waits)
		kernel_waits_check(&w->waits);
	w->has_waits = true;
	return &w->waits;
}

static const struct event_support *check_probes(struct api_works *w)
{
	if (!w->has_probes)
		kernel_probes_check(w->host, &w->probes);
	w->has_probes = true;
	return &w->probes;
}

/* Whether the probe can be measured, and whether it is without the flag unsafe. */
static void probe_works(struct api_works *w, const struct event *ev, struct event_support *out)
{
	*out = *check_probes(w);
	if (out->state != READING_OK || !ev->row->danger)
		return;
	*out = (struct event_support){.state = READING_NOT_SUPPORTED};
	snprintf(out->reason, sizeof(out->reason), "%s", ev->row->danger);
	snprintf(out->hint, sizeof(out->hint),
		 "the flag \"unsafe\" of the event sets the breakpoint all the same");
}

static const struct event_support *check_calls(struct api_works *w)
{
	if (!w->has_calls)
		calls_check(w->host, &w->calls);
	w->has_calls = true;
	return &w->calls;
}

const char *api_works_check(struct api_works *w, const struct event *ev, struct event_support *out)
{
	const struct event_support *programs;
	struct event_support opened;

	if (!event_is_perf(ev)) {
		collect_check(w->host, ev, NULL, out);
		return "";
	}
	pmu_probe_event(w->probe, ev, out);
	if (out->state == READING_OK && event_is_probe(ev))
		probe_works(w, ev, out);
	if (out->state == READING_OK && ev->group->id == EVENT_GROUP_FUNCTION)
		*out = *check_calls(w);
	if (event_wait(ev) < 0 && event_latency(ev) < 0)
		return "";
	opened = *out;
	programs = event_wait(ev) < 0 ? check_latency(w, ev) : check_waits(w);
	return ways_check(ev, programs, &opened, pmu_probe_switches(w->probe) == 0, out);
}
