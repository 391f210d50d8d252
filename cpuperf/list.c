/*
 * --list-events: the events that match a pattern, in each output format.
 */
#include "api/works.h"
#include "base/array.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "event/model.h"
#include "event/synonyms.h"
#include "event/usdt_files.h"
#include "events_text.h"
#include "program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_LIST_BYTES = 64 << 20,
	MAX_ROWS = 16, /* in text, of events that a common word names by one pattern */
};

struct list {
	struct buf out;
	const struct list_format *format;
	const char *pattern;
	const struct event_synonym *synonym; /* of the pattern; NULL: it is none */
	size_t nr_of_part[EVENT_SYNONYM_MAX_PARTS];
	size_t nr_mentions; /* that have the word, and are not of the synonym */
	const struct host *host;
	struct api_works works;          /* without a probe: not needed, only names are printed */
	const struct event_group *group; /* of the last line printed */
	size_t nr, nr_not_working, nr_not_tried;
	/* All events, in text: nothing is loaded or read for it that takes longer than the rest. */
	bool is_overview;
};

struct list_format {
	const char *name;
	const struct screen_field *header; /* NULL: none */
	void (*add)(struct list *l, const struct event_facts *f);
};

static void add_text(struct list *l, const struct event_facts *f)
{
	if (l->group != f->event.group)
		buf_printf(&l->out, "\nGroup %s\n", f->event.group->name);
	l->group = f->event.group;
	event_add_line(f, &l->out);
}

/* Above the list. */
static void add_synonym(struct list *l)
{
	const struct event_synonym *s = l->synonym;

	buf_printf(&l->out, "%s: ", l->pattern);
	for (const char *c = s->events; *c; c++)
		buf_adds(&l->out, *c == ',' ? ", " : (char[]){*c, '\0'});
	buf_printf(&l->out, "%s%s\n", *s->specs ? "; --spec-file=" : "", s->specs);
}

static void add_csv(struct list *l, const struct event_facts *f)
{
	screen_write_csv(&l->out, event_fields, EVENT_NR_LIST_FIELDS, f);
}

static void add_ndjson(struct list *l, const struct event_facts *f)
{
	screen_write_json(&l->out, event_fields, EVENT_NR_LIST_FIELDS, f);
}

/* For completion of --describe-event. */
static void add_name(struct list *l, const struct event_facts *f)
{
	buf_printf(&l->out, "%s:%s\n", f->event.group->name, f->event.row->name);
}

static const struct list_format formats[] = {
    {"text", NULL, add_text},
    {"csv", event_fields, add_csv},
    {"ndjson", NULL, add_ndjson},
    {"names", NULL, add_name},
};

static const struct list_format *find_format(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return &formats[0];
}

static bool matches_name(const char *pattern, const char *group, const char *name)
{
	char spelled[256];

	if (!name)
		return false;
	snprintf(spelled, sizeof(spelled), "%s:%s", group, name);
	return str_glob(pattern, spelled) || str_glob(pattern, name);
}

static bool has_pattern(const struct list *l, const struct event *ev)
{
	const struct event_row *row = ev->row;

	return matches_name(l->pattern, ev->group->name, row->name) ||
	       matches_name(l->pattern, ev->group->name, row->alias) ||
	       str_glob(l->pattern, row->description);
}

/* A common word stands for the events that answer it, not for all whose text has it. */
static bool matches(struct list *l, const struct event *ev)
{
	int part;

	if (!l->pattern)
		return true;
	if (!l->synonym)
		return has_pattern(l, ev);
	part = event_synonym_part(l->synonym, ev);
	l->nr_mentions += part < 0 && has_pattern(l, ev);
	return part >= 0 && (++l->nr_of_part[part] <= MAX_ROWS || l->format->add != add_text);
}

/* Below the list: the rest of each pattern. */
static void add_rest(struct list *l)
{
	const char *part = l->synonym->events;

	for (size_t i = 0; i < EVENT_SYNONYM_MAX_PARTS && *part; i++) {
		int len = (int)strcspn(part, ",");

		if (l->nr_of_part[i] > MAX_ROWS)
			buf_printf(&l->out, "\n… %zu more: --list-events='%.*s'\n",
				   l->nr_of_part[i] - MAX_ROWS, len, part);
		part += len + (part[len] == ',');
	}
}

static int list_one(const struct event *ev, void *arg)
{
	struct list *l = arg;
	struct event_facts facts;

	if (!matches(l, ev))
		return 0;
	event_facts_init(&facts, ev);
	facts.is_not_tried = l->is_overview && (event_wait(ev) >= 0 || event_latency(ev) >= 0);
	l->nr_not_tried += facts.is_not_tried;
	if (facts.is_not_tried) {
		/* programs in the kernel would be loaded */
	} else if (l->works.probe && ev->group->id == EVENT_GROUP_TRACEPOINT)
		event_support_check(l->host, ev, 0,
				    &facts.support); /* there are thousands: do not open each */
	else if (l->works.probe)
		facts.way = api_works_check(&l->works, ev, &facts.support);
	l->format->add(l, &facts);
	l->nr++;
	l->nr_not_working += facts.support.state != READING_OK;
	event_facts_fini(&facts);
	return buf_error(&l->out);
}

static bool asks_for(const char *pattern, const struct event_group *g)
{
	const char *colon = pattern ? strchr(pattern, ':') : NULL;

	return !colon || strncasecmp(pattern, g->name, (size_t)(colon - pattern)) == 0;
}

/* Events of other groups have its name, too: those whose names begin with it. */
static bool begins_with_group(const char *pattern, const struct catalogue *c)
{
	const char *colon = pattern ? strchr(pattern, ':') : NULL;

	return colon &&
	       ARRAY_ANY(g, c->groups, c->nr_groups,
			 strlen((*g)->name) == (size_t)(colon - pattern) &&
			     strncasecmp((*g)->name, pattern, (size_t)(colon - pattern)) == 0);
}

/* Probes are in files: without a target in any library of the machine, and there are thousands. */
static int list_probes(const struct catalogue *c, const struct event_group *g, struct list *l)
{
	if (!usdt_has_target(c->objects) && l->is_overview) {
		buf_printf(&l->out,
			   "\nGroup %s\n… --list-events='%s:*' reads all libraries for the "
			   "probes that they have built in\n",
			   g->name, g->name);
		return buf_error(&l->out);
	}
	if (!usdt_has_target(c->objects) && begins_with_group(l->pattern, c) &&
	    !asks_for(l->pattern, g))
		return 0;
	return catalogue_each_of(c, g, list_one, l);
}

/* Those of a program are listed by an option of their own. */
static int list_functions_hint(const struct event_group *g, struct list *l)
{
	if (l->is_overview)
		buf_printf(&l->out,
			   "\nGroup %s\n… --list-functions -- COMMAND lists those of a program\n",
			   g->name);
	return buf_error(&l->out);
}

static int list_group(const struct catalogue *c, const struct event_group *g, struct list *l)
{
	return g->id == EVENT_GROUP_USDT       ? list_probes(c, g, l)
	       : g->id == EVENT_GROUP_FUNCTION ? list_functions_hint(g, l)
					       : catalogue_each_of(c, g, list_one, l);
}

/* Logs why groups or events are missing from the list. */
static void log_missing(const struct list *l, const struct catalogue *c)
{
	const struct event_row *row;
	struct err e = {0};
	char reason[512];

	event_model_missing_reason(c, reason, sizeof(reason));
	if (reason[0] && asks_for(l->pattern, &event_model_group))
		log_info("group model: %s", reason);
	/* Every kernel with tracepoints has this one, so its error applies to the group. */
	if (asks_for(l->pattern, &event_tracepoint_group) &&
	    event_tracepoint_group.makers[0]->find(c, "sched:sched_switch", &row, &e) && e.msg[0])
		log_info("group tracepoint: %s; %s", e.msg, e.hint);
	if (l->nr_mentions)
		log_info("%zu other event(s) mention it: --list-events='*%s*'", l->nr_mentions,
			 l->pattern);
	if (l->nr_not_tried)
		log_info("%zu event(s) need programs in the kernel, which were not tried: "
			 "--list-events=latency:run_queue tries them",
			 l->nr_not_tried);
	if (l->nr_not_working)
		log_info("%zu of %zu event(s) do not work here, as marked; --describe-event says "
			 "why and what to do",
			 l->nr_not_working, l->nr);
}

int list_events(const struct options *o, const struct catalogue *c)
{
	struct list l = {.pattern = o->list_events.value,
			 .synonym =
			     o->list_events.value ? event_synonym_find(o->list_events.value) : NULL,
			 .host = c->host,
			 .format = find_format(o->output_format)};
	int status = EXIT_FAILED, rc = 0;

	l.is_overview = !l.pattern && l.format->add == add_text;
	if (l.format->add != add_name)
		rc = api_works_init(&l.works, c->host);
	buf_init(&l.out, MAX_LIST_BYTES);
	if (l.format->header)
		screen_write_csv_header(&l.out, l.format->header, EVENT_NR_LIST_FIELDS);
	if (l.synonym && l.format->add == add_text)
		add_synonym(&l);
	if (rc == 0)
		rc = ARRAY_RUN(i, c->nr_groups, list_group(c, c->groups[i], &l));
	if (l.synonym && l.format->add == add_text)
		add_rest(&l);
	if (rc)
		log_error("the list of events: %s", strerror(-rc));
	else if (!l.nr && l.pattern)
		log_error("no event matches \"%s\"", l.pattern);
	else
		status = print_result(&l.out);
	if (!rc)
		log_missing(&l, c);
	buf_fini(&l.out);
	api_works_fini(&l.works);
	return status;
}
