/*
 * Ids in a sorted list, each with its layout. Must not trust an event or a place in the attrs.
 */
#include "profile/ids.h"

#include "base/mem.h"
#include "base/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct source {
	const struct trace_event *events;
	size_t nr_events;
};

static struct profile_known_id resolve(const struct source *s, const struct trace_id *what)
{
	struct profile_known_id k = {.id = what->id, .what = what};
	uint32_t size;

	if (what->event < s->nr_events)
		k.has_layout =
		    trace_layout_nth(&s->events[what->event], what->attr, &size, &k.layout);
	return k;
}

static int compare_ids(const void *a, const void *b)
{
	const struct profile_known_id *x = a, *y = b;

	return order_u64(x->id, y->id);
}

static bool is_sampled(const struct profile_known_id *k)
{
	return k->has_layout && trace_layout_is_sampled(&k->layout);
}

/* Without ids, records belong to the only sampled event, if there is one. */
static void make_id(struct profile_ids *k, const struct source *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_events; i++) {
		struct profile_known_id id = resolve(s, &(struct trace_id){.event = (uint32_t)i});

		if (is_sampled(&id) && nr++ == 0)
			k->made_id.event = (uint32_t)i;
	}
	if (nr != 1)
		return;
	k->item[0] = resolve(s, &k->made_id);
	k->nr = 1;
	k->only = &k->item[0];
}

static bool is_same_event(const struct profile_known_id *a, const struct profile_known_id *b)
{
	return a->what->event == b->what->event && a->what->instance == b->what->instance &&
	       a->what->attr != b->what->attr;
}

static const struct profile_known_id *find_sharing(const struct profile_ids *k)
{
	const struct profile_known_id *only = NULL;

	for (size_t i = 0; i < k->nr; i++) {
		if (!is_sampled(&k->item[i]) || !trace_layout_shares_data(&k->item[i].layout))
			continue;
		if (only && is_same_event(only, &k->item[i]))
			continue; /* of its samples that the recorder unwound */
		if (only)
			return NULL;
		only = &k->item[i];
	}
	return only;
}

int profile_ids_init(struct profile_ids *k, const struct trace_event *events, size_t nr_events,
		     const struct trace_id *ids, size_t nr_ids)
{
	const struct source s = {events, nr_events};

	*k = (struct profile_ids){.item = mem_calloc(nr_ids + 1, sizeof(*k->item)), .nr = nr_ids};
	if (!k->item)
		return -ENOMEM;
	for (size_t i = 0; i < nr_ids; i++)
		k->item[i] = resolve(&s, &ids[i]);
	order_sort(k->item, nr_ids, sizeof(*k->item), compare_ids);
	if (!nr_ids)
		make_id(k, &s);
	for (size_t i = 0; i < k->nr; i++) {
		const struct profile_known_id *id = &k->item[i];

		if (!is_sampled(id))
			continue;
		if (!k->any)
			k->any = &id->layout;
		if (!k->only && !trace_layout_has_id(&id->layout))
			k->only = id;
	}
	if (k->any)
		trace_layout_id_place(k->any, &k->place);
	k->sharing = find_sharing(k);
	return 0;
}

void profile_ids_fini(struct profile_ids *k)
{
	mem_free(k->item);
	*k = (struct profile_ids){0};
}

const struct profile_known_id *profile_ids_find(const struct profile_ids *k, uint64_t id)
{
	return bsearch(&(struct profile_known_id){.id = id}, k->item, k->nr, sizeof(*k->item),
		       compare_ids);
}
