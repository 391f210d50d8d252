/*
 * The catalogue for programs.
 */
#include "api/described.h"
#include "api/fail.h"
#include "api/table.h"
#include "api/works.h"
#include "base/mem.h"
#include "host/host.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

struct listed {
	struct event event;
	struct event_support support;
	struct cpuperf_event shown; /* size 0: not looked at yet */
};

struct cpuperf_events {
	struct host host;
	struct api_catalogue catalogue;
	struct api_works works;
	const char *pattern; /* while listing */
	struct listed *item; /* owned */
	size_t nr, room;
};

static bool is_wanted(const char *pattern, const struct event *ev)
{
	char spelled[512];

	snprintf(spelled, sizeof(spelled), "%s:%s", ev->group->name, ev->row->name);
	return !pattern || fnmatch(pattern, ev->row->name, 0) == 0 ||
	       fnmatch(pattern, spelled, 0) == 0;
}

static int add(const struct event *ev, void *arg)
{
	struct cpuperf_events *events = arg;
	struct listed *new;

	if (!is_wanted(events->pattern, ev))
		return 0;
	new = MEM_ADD(events->item, events->nr, events->room);
	if (!new)
		return -ENOMEM;
	*new = (struct listed){.event = *ev};
	return 0;
}

static int load(struct cpuperf_events *events, struct cpuperf_error *error)
{
	struct err e = {0};
	int rc;

	if (host_load(&root_live, &events->host, &e))
		return api_fail(error, &e);
	api_catalogue_init(&events->catalogue, &events->host, NULL);
	if (api_works_init(&events->works, &events->host))
		return api_fail_memory(error);
	rc = catalogue_each(&events->catalogue.catalogue, add, events);
	if (rc == -ENOMEM)
		return api_fail_memory(error);
	return rc ? api_fail_use(error, rc, "the events cannot be listed", NULL) : 0;
}

int cpuperf_events_open(struct cpuperf_events **out, const char *pattern, struct cpuperf_error *e)
{
	struct cpuperf_events *events;
	int rc;

	api_fail_clear(e);
	if (!out)
		return api_fail_use(e, -EINVAL, "out is NULL", NULL);
	*out = NULL;
	events = mem_zalloc(sizeof(*events));
	if (!events)
		return api_fail_memory(e);
	events->pattern = pattern;
	rc = load(events, e);
	events->pattern = NULL;
	if (rc)
		cpuperf_events_close(events);
	else
		*out = events;
	return rc;
}

void cpuperf_events_close(struct cpuperf_events *events)
{
	if (!events)
		return;
	api_works_fini(&events->works);
	if (events->catalogue.catalogue.groups)
		api_catalogue_fini(&events->catalogue);
	host_fini(&events->host);
	mem_free(events->item);
	mem_free(events);
}

size_t cpuperf_events_nr(const struct cpuperf_events *events)
{
	return events ? events->nr : 0;
}

const struct cpuperf_event *cpuperf_events_at(struct cpuperf_events *events, size_t i)
{
	struct listed *l = i < cpuperf_events_nr(events) ? &events->item[i] : NULL;

	if (!l)
		return NULL;
	if (!l->shown.size) {
		(void)api_works_check(&events->works, &l->event, &l->support);
		api_described(&l->event, NULL, &l->support, &l->shown);
	}
	return &l->shown;
}

const struct cpuperf_event *cpuperf_events_find(struct cpuperf_events *events, const char *name)
{
	struct err ignored = {0};
	struct event ev;

	if (!events || !name ||
	    (strchr(name, ':')
		 ? catalogue_find_spelled(&events->catalogue.catalogue, name, &ev, &ignored)
		 : catalogue_find_bare(&events->catalogue.catalogue, name, &ev, &ignored)))
		return NULL;
	for (size_t i = 0; i < events->nr; i++)
		if (events->item[i].event.group == ev.group &&
		    strcmp(events->item[i].event.row->name, ev.row->name) == 0)
			return cpuperf_events_at(events, i);
	return NULL;
}
