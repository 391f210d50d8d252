#include "expose/top.h"

#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A counter of which another counts that much more loses its series to it: those of about the same
 * should not replace each other. */
static const double margin = 2;
/* Of the last iteration in a score. */
static const double weight = 0.25;

int top_init(struct top *p, size_t max, size_t nr_events)
{
	*p = (struct top){.max = max, .nr_events = nr_events};
	p->events = mem_calloc(nr_events + 1, sizeof(*p->events));
	return p->events ? 0 : -ENOMEM;
}

void top_fini(struct top *p)
{
	for (size_t i = 0; i < p->nr_events && p->events; i++)
		mem_free(p->events[i].things);
	mem_free(p->events);
	*p = (struct top){.max = 0};
}

static int compare_numbers(const void *a, const void *b)
{
	const struct top_thing *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Largest first; of the same value the older. */
static int compare_values(const void *a, const void *b)
{
	const struct table_thing *x = *(const struct table_thing *const *)a;
	const struct table_thing *y = *(const struct table_thing *const *)b;

	if (x->cell.value != y->cell.value)
		return x->cell.value < y->cell.value ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

static void add_to_thing(struct top_thing *to, const struct table *t, const struct table_thing *k)
{
	const bool is_count = t->columns[k->column].kind == EVENT_COUNT;

	to->is_seen = true;
	snprintf(to->name, sizeof(to->name), "%s", k->name);
	sums_sum_add(&to->sum, &k->cell, t->realtime_ns);
	if (cell_has_value(&k->cell))
		to->score =
		    is_count ? to->score + weight * (k->cell.value - to->score) : k->cell.value;
}

/* What a series had counted. Numbers of the moment are those of what is there. */
static void give_up(struct top_event *ev, const struct top_thing *thing, enum event_kind kind)
{
	if (kind != EVENT_VALUE || thing->is_seen)
		sums_sum_merge(&ev->others, &thing->sum);
}

static void drop_ended(struct top_event *ev, enum event_kind kind)
{
	size_t nr = 0;

	for (size_t i = 0; i < ev->nr; i++) {
		if (ev->things[i].is_seen)
			ev->things[nr++] = ev->things[i];
		else
			give_up(ev, &ev->things[i], kind);
	}
	ev->nr = nr;
}

static struct top_thing *find_least(const struct top_event *ev)
{
	struct top_thing *least = NULL;

	for (size_t i = 0; i < ev->nr; i++)
		if (!least || ev->things[i].score < least->score)
			least = &ev->things[i];
	return least;
}

/* A place for a thing that has none; NULL: others count as much. */
static struct top_thing *make_place(struct top *p, struct top_event *ev,
				    const struct table_thing *k, enum event_kind kind)
{
	struct top_thing *least;

	if (ev->nr < p->max)
		return &ev->things[ev->nr++];
	least = find_least(ev);
	if (k->cell.value <= least->score * (kind == EVENT_COUNT ? margin : 1))
		return NULL;
	give_up(ev, least, kind);
	return least;
}

static void add_to_others(struct top_event *ev, const struct table *t, const struct table_thing *k)
{
	struct sums_sum one = {.nr_partial = 0};

	sums_sum_add(&one, &k->cell, t->realtime_ns);
	sums_sum_merge(&ev->others, &one);
}

/* others: nr things that have no series, the largest first. */
static void add_others(struct top *p, struct top_event *ev, const struct table *t,
		       const struct table_thing *const *others, size_t nr)
{
	bool is_full = false;

	for (size_t i = 0; i < nr; i++) {
		enum event_kind kind = t->columns[others[i]->column].kind;
		struct top_thing *place = is_full ? NULL : make_place(p, ev, others[i], kind);

		is_full |= !place; /* nor is there one for a smaller thing */
		if (!place) {
			add_to_others(ev, t, others[i]);
			continue;
		}
		*place = (struct top_thing){.number = others[i]->number};
		add_to_thing(place, t, others[i]);
		place->score = others[i]->cell.value;
	}
}

/* Before the things of an iteration. */
static void begin(struct top_event *ev, enum event_kind kind)
{
	for (size_t i = 0; i < ev->nr; i++)
		ev->things[i].is_seen = false;
	if (kind == EVENT_VALUE)
		memset(&ev->others, 0, sizeof(ev->others));
}

/* things: nr of the event; others: room for as many. */
static int add_event(struct top *p, struct top_event *ev, const struct table *t,
		     const struct table_thing *things, size_t nr, const struct table_thing **others)
{
	const enum event_kind kind = t->columns[things->column].kind;
	struct top_thing key;
	size_t nr_others = 0;

	ev->things = ev->things ? ev->things : mem_calloc(p->max, sizeof(*ev->things));
	if (!ev->things)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		struct top_thing *found;

		key.number = things[i].number;
		found = bsearch(&key, ev->things, ev->nr, sizeof(key), compare_numbers);
		if (found)
			add_to_thing(found, t, &things[i]);
		else if (cell_has_value(&things[i].cell))
			others[nr_others++] = &things[i];
	}
	drop_ended(ev, kind);
	qsort(others, nr_others, sizeof(*others), compare_values);
	add_others(p, ev, t, others, nr_others);
	qsort(ev->things, ev->nr, sizeof(*ev->things), compare_numbers);
	return 0;
}

int top_add(struct top *p, const struct table *t)
{
	const struct table_thing **others = mem_calloc(t->nr_things + 1, sizeof(*others));
	int rc = others ? 0 : -ENOMEM;

	for (size_t e = 0; e < p->nr_events; e++)
		begin(&p->events[e], t->columns[e].kind);
	for (size_t i = 0, end; i < t->nr_things && rc == 0; i = end) {
		for (end = i; end < t->nr_things && t->things[end].column == t->things[i].column;)
			end++;
		rc = add_event(p, &p->events[t->things[i].column], t, &t->things[i], end - i,
			       others);
	}
	for (size_t e = 0; e < p->nr_events; e++) /* of which there is none any more */
		drop_ended(&p->events[e], t->columns[e].kind);
	mem_free(others);
	return rc;
}
