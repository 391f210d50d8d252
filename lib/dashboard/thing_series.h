/*
 * The displayed values of things (disks, processes …) over the last iterations. Memory is limited:
 * things that are gone leave first, and what finds no room has no series.
 */
#ifndef DASHBOARD_THING_SERIES_H
#define DASHBOARD_THING_SERIES_H

#include <stddef.h>
#include <stdint.h>

enum { THING_SERIES_DEPTH = 300, THING_SERIES_MAX = 12000 };

/* Of one column of a thing. */
struct thing_series_one {
	size_t column;
	uint32_t number; /* of the thing */
	uint64_t last;   /* the iteration that has its last value */
	float values[THING_SERIES_DEPTH];
};

/* Zero-initialise. */
struct thing_series {
	struct thing_series_one **one; /* owned; nr of them, in no order */
	size_t nr, room;
	uint32_t *places; /* owned; a hash table of indices + 1 */
	uint64_t now;     /* counts iterations from 1 */
	uint64_t swept;   /* when room was made last */
};

void thing_series_fini(struct thing_series *s);
void thing_series_clear(struct thing_series *s);
/* Begins an iteration; then set each value. Without memory a thing has no series. */
void thing_series_begin(struct thing_series *s);
void thing_series_set(struct thing_series *s, size_t column, uint32_t number, double value);
/* NULL: none. */
const struct thing_series_one *thing_series_find(const struct thing_series *s, size_t column,
						 uint32_t number);
/* The value so many iterations ago; NaN: none. one: NULL is fine. */
double thing_series_value(const struct thing_series *s, const struct thing_series_one *one,
			  size_t ago);

#endif
