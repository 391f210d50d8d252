/*
 * The catalogue: maps group:name to an event.
 *
 * Rows borrow from the host, or live in the catalogue's arena. One that cannot work on this
 * machine is listed with the reason (`missing`). That an event "works here" means that it was
 * opened: by pmu/probe.h (once per core type, for lists and descriptions), by collect/check.c
 * (read once), by session_open for a spec. event_support_check returns what is known without
 * opening; event_support_explain why the kernel refused.
 */
#ifndef EVENT_CATALOGUE_H
#define EVENT_CATALOGUE_H

#include "event/event.h"

/* Groups in listing order; borrowed. */
struct catalogue {
	const struct event_group *const *groups;
	size_t nr_groups;
	const struct host *host; /* NULL: table rows only */
	struct arena *arena;     /* of made rows; NULL if host is */
	const char *model;       /* libpfm4's name of the CPU model to use; NULL: this machine's */
	const struct event_objects
	    *objects; /* whose probes are meant (event/usdt.h); NULL: the machine */
	const struct spec_functions *functions; /* those that are measured; NULL: all */
};

/* Finds an event by its exact name or alias. -ENOENT with *e: "Unknown event: group:name", the last
 * maker's reason or the stray privilege modifier, and the nearest name. */
int catalogue_find(const struct catalogue *c, const char *group, const char *name,
		   struct event *out, struct err *e);
/* The same of an event that may be absent: if there is none, of a group that there is, its row says
 * why it is missing. */
int catalogue_find_optional(const struct catalogue *c, const char *group, const char *name,
			    struct event *out, struct err *e);
/* Finds "group:name", split at the first colon. -EINVAL without a colon; *e then lists the groups
 * that have the name. */
int catalogue_find_spelled(const struct catalogue *c, const char *spelled, struct event *out,
			   struct err *e);
/* Finds an event by its name alone in the groups fixed, arch, software, sched, latency, heap,
 * resource, misc and gpu, in this order. -ENOENT with *e: the groups that have the name, or the
 * nearest name. */
int catalogue_find_bare(const struct catalogue *c, const char *name, struct event *out,
			struct err *e);
/* Calls fn for every event: groups in order, names in byte order. Stops at the first non-zero
 * result and returns it. */
int catalogue_each(const struct catalogue *c, int (*fn)(const struct event *ev, void *arg),
		   void *arg);
/* The same of one of its groups. */
int catalogue_each_of(const struct catalogue *c, const struct event_group *g,
		      int (*fn)(const struct event *ev, void *arg), void *arg);

#endif
