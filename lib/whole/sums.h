/*
 * Samples of a trace that are added up by thread and stack, for the frames that also have what the
 * kernel adds up (trace_writer_stacks): so an iteration is as large as it has stacks. Samples are
 * the same if their records are, but for time and period. Of each the first one is kept.
 */
#ifndef WHOLE_SUMS_H
#define WHOLE_SUMS_H

#include "base/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dict;
struct perf_event_attr;
struct whole_sums;

/* A thread got its name, or the program that it runs, at that time. */
struct whole_name {
	uint32_t tid; /* the key */
	uint64_t from_ns;
};

/* names: borrowed; struct whole_name, with the last one of each thread. A sample from before it is
 * not added up, one after it only to others that are; NULL: none. NULL: no memory. */
struct whole_sums *whole_sums_new(size_t max_bytes, const struct dict *names);
void whole_sums_free(struct whole_sums *s); /* NULL is fine */

/* Samples with that id, of an event with this attr, are added up. row: of a CPU's clock, the number
 * of the row that it shares with the clocks of other CPUs, as they are in step: their places are
 * added up, too (base/place.h); 0: none. 0 or -ENOMEM. */
int whole_sums_add_id(struct whole_sums *s, uint64_t id, const struct perf_event_attr *attr,
		      uint64_t row);

/* False: it is no such sample, has the bytes of its stack, or finds no room: it has to be written
 * alone. */
bool whole_sums_add(struct whole_sums *s, const void *record, size_t size);

struct whole_sum {
	const void *record; /* of the first one; borrowed until the next call but whole_sums_next */
	size_t size;
	uint64_t samples, weight, end_ns; /* as struct trace_added's */
	bool has_places;                  /* all were in rows, and counted in: */
	int16_t places[PLACE_SUMS];
};
/* The next one: true, or false after the last. *at: 0 for the first. */
bool whole_sums_next(const struct whole_sums *s, uint32_t *at, struct whole_sum *out);
void whole_sums_reset(struct whole_sums *s); /* but for the ids */

#endif
