/*
 * Times, events and instances from the file are not trusted.
 */
#include "counts/stream.h"

#include "base/mem.h"
#include "profile/things.h"

#include <errno.h>
#include <string.h>

enum { FURTHER = PROFILE_MAX_PARTS - 1, MAX_THINGS = PROFILE_MAX_THINGS };

int counts_stream_init(struct counts_stream *st, const struct profile_facts *facts,
		       counts_tick_fn *tick, void *arg)
{
	*st = (struct counts_stream){
	    .tick = tick,
	    .arg = arg,
	    .facts = facts,
	    .pairs = mem_calloc(facts->nr_events + 1, sizeof(*st->pairs)),
	    .has_things = mem_calloc(facts->nr_events + 1, sizeof(*st->has_things)),
	    .read_ns = mem_calloc(facts->nr_events + 1, sizeof(*st->read_ns))};
	dict_init(&st->things, sizeof(struct profile_thing), DICT_KEY(struct profile_thing, number),
		  MAX_THINGS);
	return st->pairs && st->has_things && st->read_ns ? 0 : -ENOMEM;
}

static void reset(struct counts_stream *st)
{
	mem_free(st->further);
	dict_fini(&st->things);
	st->further = NULL;
}

void counts_stream_fini(struct counts_stream *st)
{
	reset(st);
	mem_free(st->pairs);
	mem_free(st->has_things);
	mem_free(st->read_ns);
}

/* NULL: no memory, or too many. */
static struct profile_thing *get_thing(struct counts_stream *st, uint32_t event, uint32_t number)
{
	const uint32_t key[] = {event, number};
	struct profile_thing *thing = dict_get(&st->things, key);

	if (thing && !thing->name)
		thing->name = "";
	return thing;
}

static void start_pairs(struct profile_pair *to, const struct profile_pair *from, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		to[i] =
		    (struct profile_pair){.has_start = from[i].has_start, .start = from[i].start};
}

int counts_stream_begin(struct counts_stream *st, const struct profile_trace *t, bool has_things)
{
	size_t nr = st->facts->nr_events;

	reset(st);
	st->trace = t;
	st->start_ns = st->end_ns = t->start_ns;
	st->is_open = false;
	memset(st->has_things, false, nr);
	start_pairs(st->pairs, t->pairs, nr);
	if (t->further) {
		st->further = mem_calloc(nr, FURTHER * sizeof(*st->further));
		if (!st->further)
			return -ENOMEM;
		start_pairs(st->further, t->further, nr * FURTHER);
	}
	for (size_t k = 0; has_things && k < t->nr_things; k++) {
		const struct profile_thing *from = &t->things[k];
		struct profile_thing *thing = get_thing(st, from->event, from->number);

		if (!thing)
			return -ENOMEM;
		*thing = *from;
		start_pairs(&thing->pair, &from->pair, 1);
	}
	return 0;
}

/* The reading becomes the start of the next tick. */
static void shift(struct profile_pair *p)
{
	if (p->has_end)
		*p = (struct profile_pair){.has_start = true, .start = p->end};
}

static void begin_tick(struct counts_stream *st)
{
	size_t nr = st->facts->nr_events;

	for (size_t i = 0; i < nr; i++)
		shift(&st->pairs[i]);
	for (size_t i = 0; st->further && i < nr * FURTHER; i++)
		shift(&st->further[i]);
	for (uint32_t k = 0; k < st->things.nr; k++) {
		struct profile_thing *thing = dict_at(&st->things, k);

		if (!thing->pair.has_end && st->has_things[thing->event] && /* it ended */
		    !(thing->pair.start.flags & READING_ENDED))
			thing->pair.has_start = false;
		shift(&thing->pair);
	}
	memset(st->has_things, false, nr);
	st->start_ns = st->end_ns;
	st->is_open = false;
}

int counts_stream_end(struct counts_stream *st)
{
	struct profile_trace tick;
	int rc;

	if (!st->is_open)
		return 0;
	tick = *st->trace;
	tick.pairs = st->pairs;
	tick.further = st->further;
	tick.things = st->things.items;
	tick.nr_things = st->things.nr;
	tick.start_ns = st->start_ns;
	tick.end_ns = st->end_ns;
	tick.sampling = NULL;
	rc = st->tick(st->arg, st, &tick);
	begin_tick(st);
	return rc;
}

/* The pair of a reading; NULL: none, or -ENOMEM in *rc. */
static struct profile_pair *find_pair(struct counts_stream *st, const struct reading *r, int *rc)
{
	struct profile_pair *p = NULL;
	size_t nr = st->facts->nr_events;

	*rc = 0;
	if (st->facts->events[r->event].scope == EVENT_SCOPE_THINGS) {
		struct profile_thing *thing = get_thing(st, r->event, r->instance);

		p = thing ? &thing->pair : NULL;
	} else if (!r->instance)
		p = &st->pairs[r->event];
	else if (r->instance >= PROFILE_MAX_PARTS)
		return NULL;
	else if (st->further || (st->further = mem_calloc(nr, FURTHER * sizeof(*p))))
		p = &st->further[(size_t)r->event * FURTHER + r->instance - 1];
	if (!p)
		*rc = -ENOMEM;
	return p;
}

int counts_stream_add(struct counts_stream *st, const struct reading *r)
{
	int rc;
	struct profile_pair *p = find_pair(st, r, &rc);

	if (!p ||
	    (p->has_start && p->start.flags & READING_ENDED)) /* listed again at the boundary */
		return rc;
	if (p->has_end)
		rc = counts_stream_end(st);
	p->has_end = true;
	p->end = *r;
	if (!st->has_things[r->event] || r->time_ns > st->read_ns[r->event])
		st->read_ns[r->event] = r->time_ns;
	st->has_things[r->event] = true;
	st->is_open = true;
	if (r->time_ns > st->end_ns)
		st->end_ns = r->time_ns;
	return rc;
}

void counts_stream_renew(struct counts_stream *st, const struct reading *r, uint64_t within_ns)
{
	int rc;
	struct profile_pair *p = find_pair(st, r, &rc);

	if (p && p->has_end && p->end.time_ns <= r->time_ns &&
	    r->time_ns - p->end.time_ns <= within_ns && !(p->end.flags & READING_ENDED))
		p->has_end = false;
}
