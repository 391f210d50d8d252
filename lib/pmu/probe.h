/*
 * Whether a perf event works here: it is opened, for a moment and counting nothing, on one CPU of
 * each kind. What was found is kept. Knows nothing of groups, and of how an event is to be used.
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

/* Says whether it works: what event_support_check has found, and if that is nothing, what the
 * kernel says. READING_OK with a reason: it works on some CPUs, and that is why not on others. What
 * is no perf event is not looked at. */
void pmu_probe_event(struct pmu_probe *p, const struct event *ev, struct event_support *out);

#endif
