/*
 * Rows made of parts: what the makers of perf events share, and the generic events of hybrid CPUs.
 */
#ifndef EVENT_PARTS_H
#define EVENT_PARTS_H

#include "event/catalogue.h"

/* Core PMUs of the machine: more than one on hybrid CPUs. */
size_t parts_nr_core_pmus(const struct host *h);

/* A row of the catalogue's arena, with copies of name and parts (at least one): a count of a CPU's
 * core, in "events", its source spelled as perf(1) would (cpu/config=0x3c/). The caller adds what
 * it knows. NULL without memory. */
struct event_row *parts_row(const struct catalogue *c, const char *name,
			    const struct event_part *parts, uint32_t nr_parts);

/* A generic hardware event of the kernel's, as this machine needs it: row itself, or, on a hybrid
 * CPU, a copy with a part for each core PMU, all named in its source. 0 or -ENOMEM. */
int parts_spread(const struct catalogue *c, const struct event_row *row,
		 const struct event_row **out);

/* Who makes the rows of the groups model and arch. */
extern const struct event_maker event_pfm_maker, event_raw_maker, event_armv8_maker;

#endif
