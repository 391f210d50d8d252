/*
 * The catalogue: from group:name to an event that can be measured. Events are rows of tables;
 * list, description, checks and documentation come from the rows.
 */
#ifndef EVENT_EVENT_H
#define EVENT_EVENT_H

#include "base/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct host;

/* The original's numbers; ours follow. An event's id is group << 11 | number. */
enum event_group_id {
	EVENT_GROUP_ARCH = 1,
	EVENT_GROUP_FIXED = 2,
	EVENT_GROUP_MODEL = 3,
	EVENT_GROUP_MISC = 4,
	EVENT_GROUP_SOFTWARE = 5,
	EVENT_GROUP_TRACEPOINT = 6,
};

/* Which of the flags os and user may stand alone. Both together always mean all. */
enum { EVENT_ALONE_OS = 1, EVENT_ALONE_USER = 2 };

/* One row of a group's table. */
struct event_row {
	const char *name;
	const char *alias; /* a second name for the same event, not listed; NULL */
	uint16_t number;   /* 1 … 2047, never reused */
	enum event_kind kind;
	enum event_scope scope;
	unsigned alone;     /* EVENT_ALONE_… */
	const char *unit;   /* of what is shown: "instructions", "ns", "B", "%" */
	const char *source; /* the kernel's name of it, or the file it is read from */
	const char *description;
	uint32_t perf_type; /* perf events: attr.type and attr.config */
	uint64_t perf_config;
	uint16_t collector, field; /* misc rows: for collect/ */
};

struct event_group {
	const char *name, *description;
	enum event_group_id id;
	bool is_perf;                 /* opened with perf_event_open; else read by collect/ */
	const struct event_row *rows; /* any order */
	size_t nr_rows;
};

/* The groups whose rows are here. misc's rows belong to collect/: collect_misc_group. */
extern const struct event_group event_arch_group, event_fixed_group, event_software_group;

/* Groups in the order in which they are listed; borrowed. */
struct catalogue {
	const struct event_group *const *groups;
	size_t nr_groups;
};

/* A found event: its row and its group. */
struct event {
	const struct event_group *group;
	const struct event_row *row;
};

uint32_t event_id(const struct event *ev);

/* Byte-exact name or alias. -ENOENT with *e = "Unknown event: group:name" and the nearest name. */
int catalogue_find(const struct catalogue *c, const char *group, const char *name,
		   struct event *out, struct err *e);
/* "group:name", split at the first colon; -EINVAL without one. */
int catalogue_find_spelled(const struct catalogue *c, const char *spelled, struct event *out,
			   struct err *e);
/* Every event: groups in their order, names in byte order. Stops at the first non-zero result. */
int catalogue_each(const struct catalogue *c, int (*fn)(const struct event *ev, void *arg),
		   void *arg);

/* Whether the event works here, as far as can be told without opening it. */
struct event_support {
	enum reading_state state; /* READING_OK or why not */
	char reason[256];         /* in words; "" */
	char hint[256];           /* what to do; "" */
};
void event_support_check(const struct host *h, const struct event *ev, unsigned flags,
			 struct event_support *out);

/* The same from the errno of an attempt to open it. */
void event_support_explain(const struct host *h, const struct event *ev, int error,
			   struct event_support *out);

struct perf_event_attr;
/* The attr to count the event with, on the heap (mem_free it; NULL without memory): type, config
 * and the exclusions that os and user ask for; read format: group and times. flags: the spec's. */
struct perf_event_attr *event_attr_new(const struct event *ev, unsigned flags);
/* Its size in bytes, as its own size field tells. */
uint32_t event_attr_bytes(const struct perf_event_attr *attr);

#endif
