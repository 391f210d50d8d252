/*
 * Which regions are open on a thread, as its marks come: the rules by which reports nest them
 * (trace/nesting.h), for an agent in the program, which cannot ask for memory, nor wait for later
 * marks. An object (a program or a library) knows its own marks alone; an end belongs to the
 * innermost region of the thread, whichever object began it. If the object's own region is around
 * those of others, these were left open.
 *
 * At a beginning, causal_open_begin returns from which region on those were left open that were
 * there before; then causal_open_push adds the new one. At an end, causal_open_end returns which
 * region has ended, if *is_matched; those behind it were left open.
 *
 * What is no longer open stays in the array until another region begins. Async-signal-safe; of one
 * thread.
 */
#ifndef CAUSAL_OPEN_H
#define CAUSAL_OPEN_H

#include <stdbool.h>
#include <stdint.h>

enum { CAUSAL_OPEN_MAX = 32, CAUSAL_OPEN_OBJECTS = 16 };

struct causal_open_region {
	uint32_t object, name;
	int64_t depth; /* as marked */
	int64_t level; /* rises from the outermost one on */
};

/* Zero-initialise. */
struct causal_open {
	struct causal_open_region region[CAUSAL_OPEN_MAX]; /* the outermost first; deeper ones are
							    * not known */
	uint32_t nr;
	int64_t level;                      /* the sum of the depths */
	int64_t depth[CAUSAL_OPEN_OBJECTS]; /* beginnings less ends, with those that were lost */
};

/* marked: the low 16 bits of the object's depth. */
static inline void causal_open_count(struct causal_open *o, uint32_t object, uint16_t marked)
{
	const uint16_t more = (uint16_t)(marked - (uint64_t)o->depth[object]);
	const int64_t by = more < 0x8000 ? more : more - 0x10000;

	o->depth[object] += by;
	o->level += by;
}

static inline uint32_t causal_open_find(const struct causal_open *o)
{
	uint32_t i = 0;

	while (i < o->nr && o->region[i].level < o->level)
		i++;
	return i;
}

static inline uint32_t causal_open_begin(struct causal_open *o, uint32_t object, uint16_t marked)
{
	causal_open_count(o, object, marked);
	o->nr = causal_open_find(o);
	o->depth[object]++;
	o->level++;
	return o->nr;
}

static inline void causal_open_push(struct causal_open *o, uint32_t object, uint32_t name)
{
	if (o->nr < CAUSAL_OPEN_MAX)
		o->region[o->nr++] =
		    (struct causal_open_region){object, name, o->depth[object] - 1, o->level - 1};
}

static inline uint32_t causal_open_end(struct causal_open *o, uint32_t object, uint16_t marked,
				       bool *is_matched)
{
	uint32_t own = o->nr;

	causal_open_count(o, object, marked);
	while (own && (o->region[own - 1].object != object ||
		       o->region[own - 1].depth != o->depth[object]))
		own--;
	if (own)
		o->level = o->region[own - 1].level;
	own = causal_open_find(o);
	*is_matched = own < o->nr && o->region[own].level == o->level;
	o->nr = own;
	return own;
}

/* Marks are missing from here on: which are open is not known, but how deep the next one is. */
static inline void causal_open_forget(struct causal_open *o)
{
	o->nr = 0;
}

/* The object has another connection: its marks begin anew. */
static inline void causal_open_leave(struct causal_open *o, uint32_t object)
{
	o->level -= o->depth[object];
	o->depth[object] = 0;
	causal_open_forget(o);
}

#endif
