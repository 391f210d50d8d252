/*
 * Finding and listing events over the groups' tables.
 */
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "event/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t event_id(const struct event *ev)
{
	return (uint32_t)ev->group->id << 11 | ev->row->number;
}

static const struct event_row *find_row(const struct event_group *g, const char *name)
{
	for (size_t i = 0; i < g->nr_rows; i++) {
		const struct event_row *r = &g->rows[i];

		if (strcmp(r->name, name) == 0 || (r->alias && strcmp(r->alias, name) == 0))
			return r;
	}
	return NULL;
}

static const struct event_group *find_group(const struct catalogue *c, const char *name)
{
	for (size_t i = 0; i < c->nr_groups; i++)
		if (strcmp(c->groups[i]->name, name) == 0)
			return c->groups[i];
	return NULL;
}

static const char *nearest_group(const struct catalogue *c, const char *name)
{
	const char *best = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < c->nr_groups; i++)
		str_nearest_offer(name, c->groups[i]->name, &best, &distance);
	return best;
}

static const char *nearest_row(const struct event_group *g, const char *name)
{
	const char *best = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < g->nr_rows; i++) {
		str_nearest_offer(name, g->rows[i].name, &best, &distance);
		if (g->rows[i].alias)
			str_nearest_offer(name, g->rows[i].alias, &best, &distance);
	}
	return best;
}

/* The group that was meant: the one named, else the nearest one, else one that has the name. */
static const struct event_group *meant_group(const struct catalogue *c, const char *group,
					     const char *name)
{
	const struct event_group *g = find_group(c, group);
	const char *nearest = g ? NULL : nearest_group(c, group);

	if (nearest)
		g = find_group(c, nearest);
	for (size_t i = 0; i < c->nr_groups && !(g && nearest_row(g, name)); i++)
		if (find_row(c->groups[i], name))
			return c->groups[i];
	return g;
}

static void suggest(const struct catalogue *c, const char *group, const char *name, struct err *e)
{
	const struct event_group *g = meant_group(c, group, name);
	const char *best = g ? nearest_row(g, name) : NULL;

	if (best)
		err_hint(e, "did you mean %s:%s? (--list-events lists all)", g->name, best);
	else
		err_hint(e, "--list-events lists all events of this machine");
}

int catalogue_find(const struct catalogue *c, const char *group, const char *name,
		   struct event *out, struct err *e)
{
	const struct event_group *g = find_group(c, group);
	const struct event_row *r = g ? find_row(g, name) : NULL;

	if (!r) {
		err_set(e, -ENOENT, "Unknown event: %s:%s", group, name);
		suggest(c, group, name, e);
		return -ENOENT;
	}
	out->group = g;
	out->row = r;
	return 0;
}

int catalogue_find_spelled(const struct catalogue *c, const char *spelled, struct event *out,
			   struct err *e)
{
	const char *colon = strchr(spelled, ':');
	MEM_AUTO char *group = NULL;

	if (!colon) {
		err_set(e, -EINVAL, "\"%s\" is not of the form group:name", spelled);
		err_hint(e, "for example fixed:instructions_retired");
		return -EINVAL;
	}
	group = mem_strdup(spelled);
	if (!group)
		return err_set(e, -ENOMEM, "out of memory");
	group[colon - spelled] = '\0';
	return catalogue_find(c, group, colon + 1, out, e);
}

static int by_name(const void *a, const void *b)
{
	const struct event_row *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int each_of_group(const struct event_group *g, int (*fn)(const struct event *ev, void *arg),
			 void *arg)
{
	const struct event_row **sorted;
	int rc = 0;

	if (!g->nr_rows)
		return 0;
	sorted = mem_calloc(g->nr_rows, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < g->nr_rows; i++)
		sorted[i] = &g->rows[i];
	qsort(sorted, g->nr_rows, sizeof(*sorted), by_name);
	for (size_t i = 0; i < g->nr_rows && rc == 0; i++) {
		struct event ev = {.group = g, .row = sorted[i]};

		rc = fn(&ev, arg);
	}
	mem_free(sorted);
	return rc;
}

int catalogue_each(const struct catalogue *c, int (*fn)(const struct event *ev, void *arg),
		   void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < c->nr_groups && rc == 0; i++)
		rc = each_of_group(c->groups[i], fn, arg);
	return rc;
}
