/*
 * One event counted by several PMUs of a kind, such as the boxes of an uncore (uncore_imc_0,
 * uncore_imc_1 …), as event parts.
 */
#ifndef EVENT_BOXES_H
#define EVENT_BOXES_H

#include "event/sysfs.h"

struct arena;

struct boxes {
	struct event_part *parts; /* in the arena */
	uint32_t nr_parts;
	const struct host_pmu *first;
	struct sysfs_event event; /* of the first part; all parts share scale, unit and kind */
};

/* True if the PMU's events are listed in misc: not a core, software or trace PMU. */
bool boxes_may_count(const struct host_pmu *pmu);

/* The PMU of that name, ignoring case but preferring an exact match; or NULL. */
const struct host_pmu *boxes_find_pmu(const struct host *h, const char *name);

/* Length of a PMU's name without its box number or address: 10 for "uncore_imc_0"; the whole length
 * if it has none. */
size_t boxes_base_len(const char *pmu);

/* Adds the parts that count all of events on all PMUs that match pmus. events: separated by spaces,
 * each a published name or terms ("event=0x0a,rdwrmask=0x1"). pmus, ignoring case: the PMU of
 * exactly that name, else every PMU whose name or base name equals or matches the glob. PMUs that
 * do not publish all of the events are skipped. scale and unit are in our units ("B", "J"). 0;
 * -ENOENT if no PMU has them, *e unchanged; -EINVAL or -ENOTSUP with *e if they cannot be packed,
 * the boxes differ in scale or unit, or a box names no CPU; -ENOMEM. */
int boxes_find(const struct host *h, struct arena *a, const char *pmus, const char *events,
	       struct boxes *out, struct err *e);
/* The same for one PMU and one of its published events. */
int boxes_of_event(const struct host *h, struct arena *a, const struct host_pmu *pmu,
		   const struct sysfs_event *ev, struct boxes *out, struct err *e);

#endif
