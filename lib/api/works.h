/*
 * Whether events can be measured here, found by opening them for a moment.
 */
#ifndef API_WORKS_H
#define API_WORKS_H

#include "event/event.h"

struct host;
struct pmu_probe;

/* Zero-initialise; what was found is kept in it. */
struct api_works {
	const struct host *host; /* borrowed */
	struct pmu_probe *probe; /* owned */
	/* Programs in the kernel, loaded once: that takes a tenth of a second. */
	struct event_support waits, latencies[EVENT_LATENCY_SYSCALL + 1];
	struct event_support probes, calls;
	bool has_waits, has_probes, has_latencies, has_calls;
};

/* 0 or -ENOMEM. */
int api_works_init(struct api_works *w, const struct host *host);
void api_works_fini(struct api_works *w); /* zeroes are fine */

/* Whether the event works on whole CPUs. Returns in which way, if there are several: a phrase; "".
 */
const char *api_works_check(struct api_works *w, const struct event *ev, struct event_support *out);

#endif
