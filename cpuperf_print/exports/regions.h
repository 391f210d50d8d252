/*
 * The regions of a session's threads, for exports that have an axis of time.
 */
#ifndef CPUPERF_PRINT_EXPORTS_REGIONS_H
#define CPUPERF_PRINT_EXPORTS_REGIONS_H

#include "job.h"
#include "profile/region_calls.h"

/* Passes what the job selects, thread by thread; nothing if the input's tasks were not loaded. What
 * each returns ends it; 0 or -errno with *e. */
int export_regions(struct job *j, const struct input *o, profile_region_event_fn *each, void *arg,
		   struct err *e);

#endif
