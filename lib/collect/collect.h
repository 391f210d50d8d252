/*
 * Collectors: /proc and sysfs as misc events. A collector is a row: a file, a parser of its text,
 * and its events; sensors are files of one value. Values are raw; percentages and scales are
 * applied when they are shown.
 */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

#include "base/cpuset.h"
#include "base/root.h"
#include "event/catalogue.h"
#include "things/many.h"

struct err;
struct host;

/* All misc rows of the collectors, for the catalogue. */
extern const struct event_group collect_misc_group, collect_gpu_group;

/* The files of the events in use, kept open. */
struct collect;

/*
 * Opens the files of nr events of misc. Borrows events and choices (by event: which things to read;
 * NULL: the sources' defaults). Sets states[i] to 0 or -errno; the readings of an event that cannot
 * be opened are READING_FAILED. 0 or -ENOMEM.
 */
int collect_open(const struct root *root, const struct event *events,
		 const struct things_choice *choices, size_t nr, struct collect **out, int *states);
/* Details of why event i cannot be opened; NULL: none. Its code is -EINVAL if the choice is
 * invalid. */
const struct err *collect_why(const struct collect *c, size_t i);
void collect_close(struct collect *c);

/* Before the first reading: reads by programs in the kernel what these can read. 0; -ENODATA: there
 * is nothing; or -errno with *why. */
int collect_use_kernel(struct collect *c, struct err *why);
/* Where event i is read now, if not from what its row names; NULL: from there. */
const char *collect_way(const struct collect *c, size_t i);

/* Follows things to their end where that is possible. 0; -ENODATA: no event needs it; or -errno
 * with *why. */
int collect_follow(struct collect *c, struct err *why);

/* Reads every file in use once. */
void collect_read(struct collect *c);
/* Reads once the files of those events that are wanted, by event; the others, and the things of
 * which no event is wanted, keep what was read last. */
void collect_read_some(struct collect *c, const bool *is_wanted);
/* The last reading was the boundary of an iteration: things that ended before it are gone from the
 * next one on. */
void collect_next(struct collect *c);
/* Waits until the last values of what has ended are there. Any thread. */
void collect_settle(const struct collect *c);
/* Whether things of the event are followed to their end here: as collect_follow. */
int collect_check_follow(const struct host *h, const struct event *ev, struct err *why);
/* Whether the event is read by programs in the kernel here: as collect_use_kernel. *way: as of
 * collect_way. */
int collect_check_kernel(const struct host *h, const struct event *ev, const char **way,
			 struct err *why);

/* The result of event i's last reading: the best over all CPUs or things. 0 or -errno; -ENODATA:
 * the files do not have it. 0 if its choice matches nothing now: things may appear. */
int collect_status(const struct collect *c, size_t i);
/* Reports whether an event of misc, not a perf event, works here: event_support_check, then one
 * reading. choice: as for collect_open; NULL: the default, but of processes only this one if the
 * caller may read all. If some may not be read, the state is READING_OK with a reason. */
void collect_check(const struct host *h, const struct event *ev, const struct things_choice *choice,
		   struct event_support *out);

/* Event i's last reading on the CPU, without .event. READING_NONE for many things that were read.
 */
void collect_get(const struct collect *c, size_t i, uint32_t cpu, struct reading *out);

/* True for events of many things (disks, processes …): EVENT_SCOPE_THINGS. Events with the same
 * source and choice share a set of things, and its numbers. */
bool collect_is_many(const struct event *ev);
uint32_t collect_nr_sets(const struct collect *c);
uint32_t collect_set(const struct collect *c, size_t i); /* UINT32_MAX: not of many things */
/* The things of the last reading, in the order of their source. */
size_t collect_nr_things(const struct collect *c, uint32_t set);
void collect_get_thing(const struct collect *c, uint32_t set, size_t k, struct things_one *out);
/* Event i's reading of a thing of its set, without .event; its state is why a value is missing.
 * False: the thing has no such value. */
bool collect_get_of_thing(const struct collect *c, size_t i, const struct things_one *thing,
			  struct reading *out);
/* Whether the things of a set are sampled at a rate of their own. Of such a set: */
bool collect_has_samples(const struct collect *c, uint32_t set);
uint64_t collect_every_ns(const struct collect *c, uint32_t set); /* between two of them */
/* Waits, but not long, until the samples up to the last reading are there. */
void collect_flush(struct collect *c);
/* The next sample up to that time, *out borrowed until the next call, or clock; false: none. */
bool collect_sample(struct collect *c, uint32_t set, uint64_t until_ns, struct things_sample *out);
bool collect_clock(struct collect *c, uint32_t set, uint64_t until_ns, struct things_clock *out);
/* Event i's reading in a sample of its set, without .event. False: it has no such value. */
bool collect_get_of_sample(const struct collect *c, size_t i, const struct things_sample *sample,
			   struct reading *out);

/* The next warning for the user, each once; NULL: no more. */
const char *collect_note(struct collect *c);

#endif
