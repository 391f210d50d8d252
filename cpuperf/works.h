/*
 * Whether an event works here: by opening it, or by reading it once.
 */
#ifndef CPUPERF_WORKS_H
#define CPUPERF_WORKS_H

#include "event/catalogue.h"

struct host;
struct pmu_probe;

void event_works(const struct host *h, struct pmu_probe *probe, const struct event *ev,
		 struct event_support *out);

#endif
