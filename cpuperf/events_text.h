/*
 * The description of one event: fields for csv and ndjson, lines for text.
 */
#ifndef CPUPERF_EVENTS_TEXT_H
#define CPUPERF_EVENTS_TEXT_H

#include "base/buf.h"
#include "event/catalogue.h"
#include "screen/field.h"

/* An event with all that is said of it. */
struct event_facts {
	struct event event;
	struct event_support support;
	struct buf encoding; /* a line per part, without a final newline */
	char scale[32];      /* "" where it is 1 */
};

/* For a list: the event, as if it works. */
void event_facts_init(struct event_facts *f, const struct event *ev);
/* For a description: what else is told of the event, but for its support. */
void event_facts_complete(struct event_facts *f);
void event_facts_fini(struct event_facts *f);

/* Of a struct event_facts. The first EVENT_NR_LIST_FIELDS need no event_facts_complete. */
extern const struct screen_field event_fields[];
enum { EVENT_NR_LIST_FIELDS = 9, EVENT_NR_FIELDS = 15 };

/* "name: description", and a mark in brackets if it does not work here: the original's line. */
void event_add_line(const struct event_facts *f, struct buf *out);
/* The line, and below it what else there is to say. */
void event_add_text(const struct event_facts *f, struct buf *out);

/* "PMU: type T, config C, CPUs ...": how a part is opened. */
void event_add_part(const struct event_part *part, struct buf *out);

/* The flags os and user that may stand alone: "os, user", "os", "none". */
const char *event_alone_name(unsigned alone);
const char *event_kind_name(enum event_kind kind);
const char *event_scope_name(enum event_scope scope);

#endif
