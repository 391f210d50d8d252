/*
 * The catalogue: from group:name to an event.
 */
#ifndef EVENT_CATALOGUE_H
#define EVENT_CATALOGUE_H

#include "event/event.h"

/* Groups in the order in which they are listed; borrowed. */
struct catalogue {
	const struct event_group *const *groups;
	size_t nr_groups;
	const struct host *host; /* NULL: tables only, no made rows */
	struct arena *arena;     /* of made rows; NULL as host */
	const char *model; /* libpfm4's name of the CPU whose events are meant; NULL: this one */
};

/* Byte-exact name or alias. -ENOENT with *e = "Unknown event: group:name", the makers' reason (of
 * several the last one's) or that a privilege stands behind the name, and the nearest name. */
int catalogue_find(const struct catalogue *c, const char *group, const char *name,
		   struct event *out, struct err *e);
/* "group:name", split at the first colon; -EINVAL without one, *e naming the groups that have the
 * name. */
int catalogue_find_spelled(const struct catalogue *c, const char *spelled, struct event *out,
			   struct err *e);
/* Every event: groups in their order, names in byte order. Stops at the first non-zero result. */
int catalogue_each(const struct catalogue *c, int (*fn)(const struct event *ev, void *arg),
		   void *arg);

#endif
