/*
 * One event counted by several PMUs of a kind: the boxes of an uncore (uncore_imc_0,
 * uncore_imc_1 …). Makes parts of them; knows no row and no name of an event.
 */
#ifndef EVENT_BOXES_H
#define EVENT_BOXES_H

#include "event/sysfs.h"

struct arena;

struct boxes {
	struct event_part *parts; /* in the arena */
	uint32_t nr_parts;
	const struct host_pmu *first;
	struct sysfs_event event; /* of the first part; scale, unit and kind are those of all */
};

/* True for PMUs whose events are listed here: all but those of cores, of software and of traces. */
bool boxes_may_count(const struct host_pmu *pmu);

/* The PMU of that name in any case, the exact one before others; NULL. */
const struct host_pmu *boxes_find_pmu(const struct host *h, const char *name);

/* Length of a PMU's name without the number or address of its box: 10 of "uncore_imc_0", all of a
 * name without one. */
size_t boxes_base_len(const char *pmu);

/* The parts that count all of events (separated by spaces: names that the PMUs publish, or terms
 * "event=0x0a,rdwrmask=0x1") on all PMUs meant by pmus, in any case: the PMU of that name, else
 * those whose name or base name is that, or fits the glob. A PMU that does not publish all of the
 * names is passed over. scale and unit are in our own units ("B", "J").
 * 0; -ENOENT no PMU has them, *e untouched; -EINVAL, -ENOTSUP with *e: they cannot be packed, the
 * boxes differ in scale or unit, or name no CPU; -ENOMEM. */
int boxes_find(const struct host *h, struct arena *a, const char *pmus, const char *events,
	       struct boxes *out, struct err *e);
/* The same of one PMU and one of its events. */
int boxes_of_event(const struct host *h, struct arena *a, const struct host_pmu *pmu,
		   const struct sysfs_event *ev, struct boxes *out, struct err *e);

#endif
