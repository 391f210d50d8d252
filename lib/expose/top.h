/*
 * The things of each event that have a series of their own while a session runs, at most so many,
 * and the sum of all others, so that all series add up to the event's number. A thing gets a series
 * when it counts more than another that has one; of a counter its series begins at 0 then, and when
 * it loses the series, or ends, what it counted is among the others, so that no counter ever falls.
 */
#ifndef EXPOSE_TOP_H
#define EXPOSE_TOP_H

#include "expose/sums.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOP_NAME_BYTES = 256 };

struct top_thing {
	uint32_t number; /* as of struct table_thing */
	bool is_seen;    /* in the current iteration */
	double score; /* of a counter the mean of iterations, the last ones most; else the value */
	char name[TOP_NAME_BYTES]; /* cut if it is longer */
	struct sums_sum sum;
};

/* Of an event. */
struct top_event {
	struct top_thing *things; /* owned; nr of them, by number */
	size_t nr;
	struct sums_sum others;
};

struct top {
	size_t max, nr_events;
	struct top_event *events; /* owned */
};

/* max: at least 1. 0 or -ENOMEM; top_fini in any case. */
int top_init(struct top *p, size_t max, size_t nr_events);
void top_fini(struct top *p);
/* Adds the things of an iteration. 0 or -ENOMEM. */
int top_add(struct top *p, const struct table *t);

#endif
