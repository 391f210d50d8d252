/*
 * Collectors: /proc and sysfs read as misc events. A collector is a row: a file, a parser of its
 * text, and the events it yields; sensors are files of one value. Values are stored raw;
 * percentages and scales are applied when they are read.
 */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

#include "base/cpuset.h"
#include "base/root.h"
#include "event/event.h"

struct err;

/* All misc rows of the collectors, for the catalogue. */
extern const struct event_group collect_misc_group;

/* The files of the events in use, kept open. */
struct collect;

/*
 * Prepares to read the nr events (all of misc; borrowed). What cannot be opened gives *states[i] as
 * 0 or -errno and yields READING_FAILED later. 0 or -ENOMEM.
 */
int collect_open(const struct root *root, const struct event *events, size_t nr,
		 struct collect **out, int *states);
void collect_close(struct collect *c);

/* Reads every file in use once, now. */
void collect_read(struct collect *c);

/* Whether the event is of this row of the session: its CPU's, or (system) trace 0's. */
bool collect_belongs(const struct event *ev, uint32_t trace);
/* The i-th event's last reading for the CPU, all but .event: state, time, raw, base. */
void collect_get(const struct collect *c, size_t i, uint32_t cpu, struct reading *out);

#endif
