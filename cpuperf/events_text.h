/*
 * The description of one event: fields for csv and ndjson, lines for text.
 */
#ifndef CPUPERF_EVENTS_TEXT_H
#define CPUPERF_EVENTS_TEXT_H

#include "base/buf.h"
#include "event/catalogue.h"
#include "screen/field.h"

/* What is printed about an event. */
struct event_facts {
	struct event event;
	struct event_support support;
	bool is_not_tried;   /* whether it works is not known */
	const char *way;     /* in which it is measured, where there are several; "" */
	struct buf encoding; /* a line per part, without a final newline */
	struct buf detail;   /* the row's, and what its CPUs count; without a final newline */
	char scale[32];      /* "" if it is 1 */
};

/* For a list: the support is READING_OK until the caller sets it. */
void event_facts_init(struct event_facts *f, const struct event *ev);
/* For a description: adds encoding, scale and detail. */
void event_facts_complete(struct event_facts *f, const struct catalogue *c);
void event_facts_fini(struct event_facts *f);

/* Of a struct event_facts. The first EVENT_NR_LIST_FIELDS do not need event_facts_complete. */
extern const struct screen_field event_fields[];
enum { EVENT_NR_LIST_FIELDS = 9, EVENT_NR_FIELDS = 16 };

/* "name: description", with the state in brackets if the event does not work here,
 * or is not known to. */
void event_add_line(const struct event_facts *f, struct buf *out);
/* The same line, and one line per further fact. */
void event_add_text(const struct event_facts *f, struct buf *out);

/* How a part is opened: "PMU: type T, config C, CPUs …". */
void event_add_part(const struct event_part *part, struct buf *out);

/* Which of the flags os and user may be set alone: "os, user", "os", "user", "none". */
const char *event_alone_name(unsigned alone);
const char *event_kind_name(enum event_kind kind);
const char *event_scope_name(enum event_scope scope);

#endif
