/*
 * Collectors: /proc and sysfs read as misc events. A collector is a row: a file, a parser of its
 * text, and the events it yields; sensors are files of one value. Values are stored raw;
 * percentages and scales are applied when they are read.
 */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

#include "base/cpuset.h"
#include "base/root.h"
#include "collect/many.h"
#include "event/catalogue.h"

struct err;
struct host;

/* All misc rows of the collectors, for the catalogue. */
extern const struct event_group collect_misc_group;

/* The files of the events in use, kept open. */
struct collect;

/*
 * Prepares to read the nr events (all of misc; borrowed, like choices: what is wanted of events of
 * many things; NULL: what their sources give by themselves). What cannot be opened gives
 * *states[i] as 0 or -errno and yields READING_FAILED later. 0 or -ENOMEM.
 */
int collect_open(const struct root *root, const struct event *events,
		 const struct collect_choice *choices, size_t nr, struct collect **out,
		 int *states);
/* Why event i cannot be opened, beside its errno; NULL: no details. -EINVAL: its choice is
 * invalid. */
const struct err *collect_why(const struct collect *c, size_t i);
void collect_close(struct collect *c);

/* Reads every file in use once, now. */
void collect_read(struct collect *c);

/* The result of the i-th event's last reading, on the CPU or of the thing where it went best: 0 or
 * -errno; -ENODATA: what was read does not have it. An event whose choice picks nothing now is 0:
 * its things may come. */
int collect_status(const struct collect *c, size_t i);
/* Whether an event (of misc, no perf event) works here: what event_support_check finds, and if that
 * is nothing, the result of one reading. choice: as for collect_open; NULL: the default, of
 * processes only this one. */
void collect_check(const struct host *h, const struct event *ev,
		   const struct collect_choice *choice, struct event_support *out);

/* True if the trace holds the event: each trace the events of its CPU, trace 0 (the first CPU's)
 * also those of the whole system. */
bool collect_belongs(const struct event *ev, uint32_t trace);
/* The i-th event's last reading for the CPU, all but .event: state, time, raw, base. Of many
 * things: READING_NONE if they were read. */
void collect_get(const struct collect *c, size_t i, uint32_t cpu, struct reading *out);

/* Of many things (disks, processes …), which come and go: EVENT_SCOPE_THINGS. Events that share
 * source and choice are of one set, and number their things alike. */
bool collect_is_many(const struct event *ev);
uint32_t collect_nr_sets(const struct collect *c);
uint32_t collect_set(const struct collect *c, size_t i); /* UINT32_MAX: not of many things */
/* The things of the last read, in the order of their source. */
size_t collect_nr_things(const struct collect *c, uint32_t set);
void collect_get_thing(const struct collect *c, uint32_t set, size_t k, struct collect_thing *out);
/* The i-th event's reading of a thing of its set, all but .event: why there is no number, if it
 * could not be read. False: it has none. */
bool collect_get_of_thing(const struct collect *c, size_t i, const struct collect_thing *thing,
			  struct reading *out);
/* The next warning for the user, each once; NULL: no more. */
const char *collect_note(struct collect *c);

#endif
