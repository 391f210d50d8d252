/*
 * Whether a perf event works here: it is opened briefly, not counting, on one CPU of each kind.
 * Results are cached. Does not consider groups, or how an event will be used.
 */
#ifndef PMU_PROBE_H
#define PMU_PROBE_H

#include "event/catalogue.h"
#include "pmu/ops.h"

struct host;
struct pmu_probe;

/* ops: NULL: the kernel's. Both are borrowed. NULL without memory. */
struct pmu_probe *pmu_probe_new(const struct host *host, const struct pmu_ops *ops);
void pmu_probe_free(struct pmu_probe *p); /* NULL is fine */

/* Checks one event: by event_support_check, and if that finds nothing, by opening it. READING_OK
 * with a reason: it works on some CPUs, and the reason is for the others. Other than perf
 * events are not opened. */
void pmu_probe_event(struct pmu_probe *p, const struct event *ev, struct event_support *out);

/* Whether the switches of a task of this user can be recorded. 0 or -errno. */
int pmu_probe_switches(const struct pmu_probe *p);

#endif
