/*
 * Which tasks the samples of some periods need: those that lived in one, and what they inherited
 * from. A task lives from its FORK to its EXIT; a tid that is used again is another task. Tasks
 * whose beginning or end was not recorded live from 0, or on.
 *
 * Add the records of tasks of a common file in any order, decide once, then ask for each record.
 */
#ifndef TRACE_LIVES_H
#define TRACE_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_record;

/* CLOCK_MONOTONIC; both ends included. */
struct trace_period {
	uint64_t from_ns, to_ns;
};

struct trace_lives {
	struct trace_life_event *events; /* owned */
	size_t nr_events, events_room;
	struct trace_life *lives; /* owned; by tid, then beginning */
	size_t nr, room;
};

/* Zero-initialise. */
void trace_lives_fini(struct trace_lives *l);
/* Stores a FORK, EXIT or COMM; ignores others. is_made: from /proc. 0 or -ENOMEM. */
int trace_lives_add(struct trace_lives *l, const struct trace_record *r, bool is_made);
/* Decides what is needed: also the parents of what is needed (names and mappings are inherited, and
 * trees of processes are reported), and the main thread of a process. 0 or -ENOMEM. */
int trace_lives_decide(struct trace_lives *l, const struct trace_period *periods, size_t nr);
/* Whether a record of the file is needed. True for records that are not of tasks and mappings. */
bool trace_lives_needs(const struct trace_lives *l, const struct trace_record *r);
/* Whether the process that had the pid then is needed; true if it is unknown. */
bool trace_lives_needs_process(const struct trace_lives *l, uint32_t pid, uint64_t time_ns);

#endif
