/*
 * The readings of per-thing events (disks, processes …) at one boundary, and the names of the
 * things.
 *
 * Things come and go. Each has a number that is unique in the session; its readings carry it as
 * their instance, and are stored in trace 0 (of the machine and the first CPU) with frames that
 * name it. An event's number is the sum over its things, or their mean or largest where a sum says
 * nothing (enum event_total). A thing that exists but cannot be read has a reading with the
 * reason, and makes the sum partial.
 *
 * Only a thing that began in the iteration counts from 0: the collector marks things that were
 * absent at the previous reading, and an end reading says whether its thing existed before the
 * iteration. Names are sanitised on entry, by the rules of traces.
 */
#ifndef SESSION_THINGS_H
#define SESSION_THINGS_H

#include "base/buf.h"
#include "base/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source_uses;
struct trace_writer;

/* A thing and its name. A set is the events that share the numbering of things. */
struct session_thing {
	uint32_t set, number;
	uint64_t time_ns; /* when it was read */
	size_t name_at;   /* in names */
};

/* Zero-initialise by session_things_init. */
struct session_things {
	struct reading *readings; /* owned; event by event, in the order of their source */
	uint32_t *thing_of;       /* owned; by reading: its index in things */
	size_t nr_readings, room, of_room;
	struct session_thing *things; /* owned; set by set */
	size_t nr_things, things_room;
	struct buf names; /* NUL-terminated texts */
};

void session_things_init(struct session_things *t);
void session_things_fini(struct session_things *t);

/* Replaces the contents by what sources of values read last. boundary_ns: the last boundary; a
 * thing found later is new in the iteration. is_wanted: by event of the plan; only those, and the
 * things of their sets; NULL: all. 0 or -ENOMEM (then it is empty). */
int session_things_read(struct session_things *t, const struct source_uses *uses,
			uint64_t boundary_ns, const bool *is_wanted);
/* Replaces the readings of the set by its last values (those that samples left), without numbers
 * that are not later than from_ns. The set's things are those that were read. 0 or -ENOMEM. */
int session_things_reread(struct session_things *t, const struct source_uses *uses, uint32_t set,
			  uint64_t from_ns);
/* The reading of the event and the instance, or NULL. *hint (0 at first) makes lookups in the order
 * of another boundary fast. */
const struct reading *session_things_find(const struct session_things *t, uint32_t event,
					  uint32_t instance, size_t *hint);
const char *session_thing_name(const struct session_things *t, const struct session_thing *thing);
/* Adds the things with a number of at least from[set] to to (names, no readings), and raises
 * from[set] above them; to NULL: only raises. from: per set. Without memory things are skipped. */
void session_things_new(struct session_things *to, const struct session_things *t, uint32_t *from);
/* Adds the names of the things that were read up to that time to what the writer has gathered, as
 * frames. False if there are none. */
bool session_things_write(const struct session_things *t, const struct source_uses *uses,
			  struct trace_writer *w, uint64_t until_ns);
/* Drops the things found up to that time; for lists without readings. */
void session_things_drop(struct session_things *t, uint64_t until_ns);
/* Empties the contents. */
void session_things_empty(struct session_things *t);

#endif
