/*
 * What the kernel counts for a generic event (PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE), by CPU
 * model: the tables of Linux 6.12. The running kernel's tables decide; a CPU that is not in ours is
 * reported as unknown.
 */
#ifndef EVENT_GENERIC_H
#define EVENT_GENERIC_H

#include "event/catalogue.h"

struct buf;

/* Appends lines for --describe-event, separated by newlines from each other and from what out has:
 * what the event counts on the catalogue's model, else on each core type of its host; and whose
 * tables say so. Nothing if it is not a generic event or the catalogue has no host. */
void generic_describe(const struct catalogue *c, const struct event *ev, struct buf *out);

/* Appends rows of a Markdown table: counter, code, what it counts, CPUs. Nothing if it is not a
 * generic event. */
void generic_table(const struct event *ev, struct buf *out);

#endif
