/*
 * Readings of many things at a boundary.
 */
#include "session/things.h"

#include "base/mem.h"
#include "session/source_uses.h"
#include "spec/spec.h"
#include "things/many.h"
#include "trace/writer.h"

#include <errno.h>
#include <string.h>

enum { MAX_NAMES_BYTES = 64 << 20, MAX_READINGS = 8 << 20 };

void session_things_init(struct session_things *t)
{
	*t = (struct session_things){.nr_readings = 0};
	buf_init(&t->names, MAX_NAMES_BYTES);
}

void session_things_fini(struct session_things *t)
{
	mem_free(t->readings);
	mem_free(t->thing_of);
	mem_free(t->things);
	buf_fini(&t->names);
	session_things_init(t);
}

static int add_reading(struct session_things *t, const struct reading *r, size_t thing)
{
	size_t nr = t->nr_readings;
	uint32_t *of = nr < MAX_READINGS ? MEM_ADD(t->thing_of, nr, t->of_room) : NULL;
	struct reading *added = of ? MEM_ADD(t->readings, t->nr_readings, t->room) : NULL;

	if (!added)
		return -ENOMEM;
	*of = (uint32_t)thing;
	*added = *r;
	return 0;
}

static int add_thing(struct session_things *t, const struct session_thing *thing, const char *name)
{
	struct session_thing *added;
	size_t name_at = t->names.len;

	buf_add(&t->names, name, strlen(name) + 1);
	if (buf_error(&t->names))
		return buf_error(&t->names);
	added =
	    t->nr_things < MAX_READINGS ? MEM_ADD(t->things, t->nr_things, t->things_room) : NULL;
	if (!added)
		return -ENOMEM;
	*added = *thing;
	added->name_at = name_at;
	return 0;
}

static int read_event(struct session_things *t, const struct source_uses *uses, size_t i,
		      uint64_t boundary_ns)
{
	const struct source_use *u = source_uses_of_values(uses, i);
	uint32_t set = source_uses_set(uses, i);
	size_t first = 0;
	int rc = 0;

	while (first < t->nr_things && t->things[first].set != set)
		first++;
	for (size_t k = 0; k < source_uses_nr_things(uses, set) && rc == 0; k++) {
		struct things_one thing;
		struct reading r;

		source_uses_get_thing(uses, set, k, &thing);
		if (!u->source->values->get_of_thing(u, i, &thing, &r))
			continue;
		r.event = (uint32_t)i;
		r.flags = thing.born_ns > boundary_ns ? 0 : READING_OLD;
		r.flags |= r.state == READING_OK ? 0 : READING_OF_THING;
		r.flags |= thing.is_rest ? READING_REST : 0;
		r.flags |= thing.has_ended ? READING_ENDED : 0;
		rc = add_reading(t, &r, first + k);
	}
	return rc;
}

static int read_names(struct session_things *t, const struct source_uses *uses, uint32_t set)
{
	int rc = 0;

	for (size_t k = 0; k < source_uses_nr_things(uses, set) && rc == 0; k++) {
		struct things_one thing;

		source_uses_get_thing(uses, set, k, &thing);
		rc = add_thing(t,
			       &(struct session_thing){
				   .set = set, .number = thing.number, .time_ns = thing.time_ns},
			       thing.name);
	}
	return rc;
}

void session_things_empty(struct session_things *t)
{
	t->nr_readings = t->nr_things = 0;
	buf_reset(&t->names);
}

static bool is_wanted_set(const struct source_uses *uses, uint32_t set, const bool *is_wanted)
{
	for (size_t i = 0; is_wanted && i < uses->nr_events; i++)
		if (is_wanted[i] && source_uses_set(uses, i) == set)
			return true;
	return !is_wanted;
}

int session_things_read(struct session_things *t, const struct source_uses *uses,
			uint64_t boundary_ns, const bool *is_wanted)
{
	int rc = 0;

	session_things_empty(t);
	for (uint32_t set = 0; set < source_uses_nr_sets(uses) && rc == 0; set++)
		if (is_wanted_set(uses, set, is_wanted))
			rc = read_names(t, uses, set);
	for (size_t i = 0; i < uses->nr_events && rc == 0; i++)
		if (source_uses_set(uses, i) != UINT32_MAX && (!is_wanted || is_wanted[i]))
			rc = read_event(t, uses, i, boundary_ns);
	if (rc)
		session_things_empty(t);
	return rc;
}

static void drop_readings(struct session_things *t, const struct source_uses *uses, uint32_t set)
{
	size_t nr = 0;

	for (size_t k = 0; k < t->nr_readings; k++) {
		if (source_uses_set(uses, t->readings[k].event) == set)
			continue;
		t->thing_of[nr] = t->thing_of[k];
		t->readings[nr++] = t->readings[k];
	}
	t->nr_readings = nr;
}

int session_things_reread(struct session_things *t, const struct source_uses *uses, uint32_t set,
			  uint64_t from_ns)
{
	size_t nr;
	int rc = 0;

	drop_readings(t, uses, set);
	nr = t->nr_readings;
	for (size_t i = 0; i < uses->nr_events && rc == 0; i++)
		if (source_uses_set(uses, i) == set)
			rc = read_event(t, uses, i, from_ns);
	for (size_t k = nr; k < t->nr_readings; k++) {
		if (t->readings[k].state == READING_OK && t->readings[k].time_ns <= from_ns)
			continue;
		t->thing_of[nr] = t->thing_of[k];
		t->readings[nr++] = t->readings[k];
	}
	t->nr_readings = nr;
	return rc;
}

const struct reading *session_things_find(const struct session_things *t, uint32_t event,
					  uint32_t instance, size_t *hint)
{
	for (size_t k = 0; k < t->nr_readings; k++) {
		size_t at = (*hint + k) % t->nr_readings;

		if (t->readings[at].event != event || t->readings[at].instance != instance)
			continue;
		*hint = at + 1;
		return &t->readings[at];
	}
	return NULL;
}

const char *session_thing_name(const struct session_things *t, const struct session_thing *thing)
{
	return t->names.data + thing->name_at;
}

static bool write_set(const struct session_things *t, const struct source_uses *uses, uint32_t set,
		      uint64_t until_ns, struct trace_thing *items, struct trace_writer *w)
{
	uint32_t events[SPEC_MAX_MISC_EVENTS];
	struct trace_things things = {.events = events, .item = items};

	for (size_t k = 0; k < t->nr_things; k++)
		if (t->things[k].set == set && t->things[k].time_ns <= until_ns)
			items[things.nr++] = (struct trace_thing){
			    t->things[k].number, session_thing_name(t, &t->things[k])};
	for (size_t i = 0; i < uses->nr_events; i++)
		if (source_uses_set(uses, i) == set)
			events[things.nr_events++] = (uint32_t)i;
	if (things.nr)
		trace_writer_things(w, &things);
	return things.nr > 0;
}

bool session_things_write(const struct session_things *t, const struct source_uses *uses,
			  struct trace_writer *w, uint64_t until_ns)
{
	struct trace_thing *items = t->nr_things ? mem_calloc(t->nr_things, sizeof(*items)) : NULL;
	bool is_any = false;

	for (uint32_t set = 0; items && set < source_uses_nr_sets(uses); set++)
		is_any |= write_set(t, uses, set, until_ns, items, w);
	mem_free(items); /* without memory the things keep their numbers */
	return is_any;
}

void session_things_drop(struct session_things *t, uint64_t until_ns)
{
	size_t nr = 0;

	for (size_t k = 0; k < t->nr_things; k++)
		if (t->things[k].time_ns > until_ns)
			t->things[nr++] = t->things[k];
	t->nr_things = nr;
	if (!nr)
		buf_reset(&t->names);
}

void session_things_new(struct session_things *to, const struct session_things *t, uint32_t *from)
{
	for (size_t k = 0; k < t->nr_things; k++) {
		const struct session_thing *thing = &t->things[k];

		if (thing->number < from[thing->set])
			continue;
		from[thing->set] = thing->number + 1;
		if (to)
			(void)add_thing(to, thing, session_thing_name(t, thing));
	}
}
