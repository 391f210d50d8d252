/*
 * Series of things: rings that are found by column and number of the thing.
 */
#include "dashboard/thing_series.h"

#include "base/hash.h"
#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { NR_PLACES = 1 << 15 }; /* more than twice THING_SERIES_MAX */

_Static_assert(NR_PLACES > 2 * THING_SERIES_MAX, "searches end at an empty place");

void thing_series_clear(struct thing_series *s)
{
	for (size_t i = 0; i < s->nr; i++)
		mem_free(s->one[i]);
	s->nr = 0;
	s->now = s->swept = 0;
	if (s->places)
		memset(s->places, 0, NR_PLACES * sizeof(*s->places));
}

void thing_series_fini(struct thing_series *s)
{
	thing_series_clear(s);
	mem_free((void *)s->one);
	mem_free(s->places);
	*s = (struct thing_series){.nr = 0};
}

/* Where it is, or would be. */
static size_t find_place(const struct thing_series *s, size_t column, uint32_t number)
{
	size_t at = (size_t)hash_mix(hash_mix(0, column), number) % NR_PLACES;

	for (;; at = (at + 1) % NR_PLACES) {
		const struct thing_series_one *one;

		if (!s->places[at])
			return at;
		one = s->one[s->places[at] - 1];
		if (one->column == column && one->number == number)
			return at;
	}
}

const struct thing_series_one *thing_series_find(const struct thing_series *s, size_t column,
						 uint32_t number)
{
	uint32_t at = s->places ? s->places[find_place(s, column, number)] : 0;

	return at ? s->one[at - 1] : NULL;
}

/* Drops what is not in this iteration, at most once in each. */
static void sweep(struct thing_series *s)
{
	size_t nr = 0;

	if (s->swept == s->now)
		return;
	s->swept = s->now;
	memset(s->places, 0, NR_PLACES * sizeof(*s->places));
	for (size_t i = 0; i < s->nr; i++) {
		if (s->one[i]->last + 1 < s->now) /* others may still come */
			mem_free(s->one[i]);
		else
			s->one[nr++] = s->one[i];
	}
	s->nr = nr;
	for (size_t i = 0; i < nr; i++)
		s->places[find_place(s, s->one[i]->column, s->one[i]->number)] = (uint32_t)i + 1;
}

static struct thing_series_one *add(struct thing_series *s, size_t column, uint32_t number)
{
	struct thing_series_one *one, **at;

	if (s->nr == THING_SERIES_MAX)
		sweep(s);
	if (s->nr == THING_SERIES_MAX)
		return NULL;
	one = mem_alloc(sizeof(*one));
	at = one ? MEM_ADD(s->one, s->nr, s->room) : NULL;
	if (!at) {
		mem_free(one);
		return NULL;
	}
	*at = one;
	one->column = column;
	one->number = number;
	one->last = s->now - 1;
	for (size_t i = 0; i < THING_SERIES_DEPTH; i++)
		one->values[i] = NAN;
	s->places[find_place(s, column, number)] = (uint32_t)s->nr;
	return one;
}

void thing_series_begin(struct thing_series *s)
{
	if (!s->places)
		s->places = mem_calloc(NR_PLACES, sizeof(*s->places));
	s->now++;
}

void thing_series_set(struct thing_series *s, size_t column, uint32_t number, double value)
{
	struct thing_series_one *one =
	    (struct thing_series_one *)thing_series_find(s, column, number);

	if (!one && s->places)
		one = add(s, column, number);
	if (!one)
		return;
	/* in iterations that it was not in, it has no value */
	for (uint64_t i = one->last + 1; i < s->now && i < one->last + 1 + THING_SERIES_DEPTH; i++)
		one->values[i % THING_SERIES_DEPTH] = NAN;
	one->last = s->now;
	one->values[s->now % THING_SERIES_DEPTH] =
	    (float)fmin(fmax(value, -(double)FLT_MAX), (double)FLT_MAX);
	if (isnan(value))
		one->values[s->now % THING_SERIES_DEPTH] = NAN;
}

double thing_series_value(const struct thing_series *s, const struct thing_series_one *one,
			  size_t ago)
{
	if (!one || ago >= s->now || s->now - ago > one->last)
		return NAN;
	/* what is older than the ring is overwritten */
	if (one->last - (s->now - ago) >= THING_SERIES_DEPTH)
		return NAN;
	return (double)one->values[(s->now - ago) % THING_SERIES_DEPTH];
}
