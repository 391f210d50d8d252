/*
 * Rows made of parts, for the makers of perf events; and the generic events of hybrid CPUs.
 */
#ifndef EVENT_PARTS_H
#define EVENT_PARTS_H

#include "event/catalogue.h"

struct host_pmu;

/* Number of core PMUs: more than one on hybrid CPUs. */
size_t parts_nr_core_pmus(const struct host *h);

/* Allocates a row in the catalogue's arena, with copies of name and parts (at least one): a per-CPU
 * count in "events", its source spelled as in perf(1) (cpu/config=0x3c/). The caller sets the other
 * fields. NULL if out of memory. */
struct event_row *parts_row(const struct catalogue *c, const char *name,
			    const struct event_part *parts, uint32_t nr_parts);

/* Spreads a generic hardware event over this machine's core PMUs: *out is row itself, or, on a
 * hybrid CPU, a copy with a part per core PMU, all named in its source. 0 or -ENOMEM. */
int parts_spread(const struct catalogue *c, const struct event_row *row,
		 const struct event_row **out);

/* Why an event of a model that this machine does not have is missing; in the arena, NULL if out of
 * memory. */
const char *parts_foreign_reason(const struct catalogue *c);

/* True if a core PMU of ARM does not implement a common event. The kernel publishes those that the
 * CPU's PMCEID registers list: a PMU that publishes cpu_cycles and not this one lacks it. False if
 * that cannot be known. */
bool event_armv8_lacks(const struct host *h, const struct host_pmu *pmu, uint64_t config);
#define EVENT_ARMV8_LACKS "the CPU does not implement it, or its kernel driver does not offer it"

/* The makers of the groups model and arch. */
extern const struct event_maker event_pfm_maker, event_raw_maker, event_armv8_maker;

#endif
