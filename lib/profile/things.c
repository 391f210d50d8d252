/*
 * Builds things from readings and names: everything is an entry, and sorting joins the entries of a
 * thing.
 */
#include "profile/things.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

enum { NAMES_MAX_BYTES = 64 << 20 };

/* The kinds of entries, in the order in which they are applied to a thing. */
struct profile_thing_entry {
	uint32_t event, number;
	size_t place;     /* in file order */
	const char *name; /* NULL: a reading */
	enum trace_boundary boundary;
	struct reading reading;
	uint64_t offset;
};

void profile_things_init(struct profile_things *t)
{
	*t = (struct profile_things){.nr = 0};
	arena_init(&t->names, NAMES_MAX_BYTES);
}

void profile_things_fini(struct profile_things *t)
{
	mem_free(t->entries);
	mem_free(t->item);
	arena_fini(&t->names);
	profile_things_init(t);
}

void profile_things_reset(struct profile_things *t)
{
	t->nr_entries = t->nr = 0;
	t->is_full = false;
	arena_fini(&t->names);
	arena_init(&t->names, NAMES_MAX_BYTES);
}

static int add(struct profile_things *t, const struct profile_thing_entry *e)
{
	struct profile_thing_entry *grown;

	if (t->nr_entries == PROFILE_MAX_THINGS) {
		t->is_full = true;
		return 0;
	}
	grown = mem_grow(t->entries, t->nr_entries, &t->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	t->entries = grown;
	grown[t->nr_entries] = *e;
	grown[t->nr_entries].place = t->nr_entries;
	t->nr_entries++;
	return 0;
}

int profile_things_add(struct profile_things *t, enum trace_boundary boundary,
		       const struct reading *r, uint64_t offset)
{
	return add(t, &(struct profile_thing_entry){.event = r->event,
						    .number = r->instance,
						    .boundary = boundary,
						    .reading = *r,
						    .offset = offset});
}

static int name_one(struct profile_things *t, const struct trace_things *names, size_t i)
{
	char *copy = arena_strdup(&t->names, names->item[i].name);
	int rc = copy ? 0 : -ENOMEM;

	for (size_t k = 0; k < names->nr_events && rc == 0; k++)
		rc = add(t, &(struct profile_thing_entry){.event = names->events[k],
							  .number = names->item[i].number,
							  .name = copy});
	return rc;
}

int profile_things_name(struct profile_things *t, const struct trace_things *names)
{
	int rc = 0;

	for (size_t i = 0; i < names->nr && rc == 0; i++)
		rc = name_one(t, names, i);
	return rc;
}

static int compare(const void *a, const void *b)
{
	const struct profile_thing_entry *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* The first start reading and the last end reading are used. */
static void apply(struct profile_thing *thing, const struct profile_thing_entry *e)
{
	struct profile_pair *p = &thing->pair;

	if (e->name) {
		thing->name = e->name;
	} else if (e->boundary == TRACE_START && !p->has_start) {
		p->has_start = true;
		p->start = e->reading;
		p->start_offset = e->offset;
	} else if (e->boundary == TRACE_END) {
		p->has_end = true;
		p->end = e->reading;
		p->end_offset = e->offset;
	}
}

static bool is_next(const struct profile_things *t, const struct profile_thing_entry *e)
{
	const struct profile_thing *last = t->nr ? &t->item[t->nr - 1] : NULL;

	return !last || last->event != e->event || last->number != e->number;
}

/* In the recorder's order, that of the last reading; then things that ended. */
static int compare_places(const void *a, const void *b)
{
	const struct profile_thing *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->pair.has_end != y->pair.has_end)
		return x->pair.has_end ? -1 : 1;
	if (x->pair.has_end)
		return x->pair.end_offset < y->pair.end_offset ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

int profile_things_join(struct profile_things *t)
{
	t->nr = 0;
	if (t->nr_entries)
		qsort(t->entries, t->nr_entries, sizeof(*t->entries), compare);
	for (size_t i = 0; i < t->nr_entries; i++) {
		const struct profile_thing_entry *e = &t->entries[i];

		if (is_next(t, e)) {
			struct profile_thing *grown =
			    mem_grow(t->item, t->nr, &t->item_room, sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			t->item = grown;
			t->item[t->nr++] = (struct profile_thing){
			    .event = e->event, .number = e->number, .name = ""};
		}
		apply(&t->item[t->nr - 1], e);
	}
	if (t->nr)
		qsort(t->item, t->nr, sizeof(*t->item), compare_places);
	return 0;
}
