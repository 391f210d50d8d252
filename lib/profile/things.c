/*
 * Builds things from readings and names: everything is an entry, and sorting joins the entries of a
 * thing.
 */
#include "profile/things.h"

#include "base/mem.h"
#include "base/order.h"
#include "profile/load.h"

#include <errno.h>

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
	struct profile_thing_entry *entry;

	if (t->nr_entries == PROFILE_MAX_THINGS) {
		t->is_full = true;
		return 0;
	}
	entry = MEM_ADD(t->entries, t->nr_entries, t->room);
	if (!entry)
		return -ENOMEM;
	*entry = *e;
	entry->place = t->nr_entries;
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

int profile_things_name(struct profile_things *t, const struct trace_things *names)
{
	int rc = 0;

	for (size_t i = 0; i < names->nr && rc == 0; i++) {
		char *copy = arena_strdup(&t->names, names->item[i].name);

		rc = copy ? 0 : -ENOMEM;
		for (size_t k = 0; k < names->nr_events && rc == 0; k++)
			rc = add(t, &(struct profile_thing_entry){.event = names->events[k],
								  .number = names->item[i].number,
								  .name = copy});
	}
	return rc;
}

static int compare(const void *a, const void *b)
{
	const struct profile_thing_entry *x = a, *y = b;

	return order_u64(x->event, y->event)
		   ?: order_u64(x->number, y->number)
		   ?: order_u64(x->place, y->place);
}

/* In the recorder's order, that of the last reading; then things that ended. */
static int compare_places(const void *a, const void *b)
{
	const struct profile_thing *x = a, *y = b;

	return order_u64(x->event, y->event)
		   ?: order_u64(y->pair.has_end, x->pair.has_end)
		   ?: order_u64(x->pair.end_offset, y->pair.end_offset)
		   ?: order_u64(x->number, y->number);
}

int profile_things_join(struct profile_things *t)
{
	struct profile_thing *thing = NULL;

	t->nr = 0;
	order_sort(t->entries, t->nr_entries, sizeof(*t->entries), compare);
	for (size_t i = 0; i < t->nr_entries; i++) {
		const struct profile_thing_entry *e = &t->entries[i];

		if (!thing || thing->event != e->event || thing->number != e->number) {
			thing = MEM_ADD(t->item, t->nr, t->item_room);
			if (!thing)
				return -ENOMEM;
			*thing = (struct profile_thing){
			    .event = e->event, .number = e->number, .name = ""};
		}
		if (e->name)
			thing->name = e->name;
		else
			profile_pair_add(&thing->pair, e->boundary, &e->reading, e->offset);
	}
	order_sort(t->item, t->nr, sizeof(*t->item), compare_places);
	return 0;
}
