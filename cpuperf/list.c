/*
 * --list-events and --describe-event, from the catalogue's rows.
 */
#include "api/live.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/str.h"
#include "program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LIST_BYTES = 64 << 20 };

struct list {
	struct buf out;
	const char *pattern;
	const struct event_group *group; /* the last one printed */
};

static bool matches(const char *pattern, const struct event *ev)
{
	char spelled[160];

	if (!pattern)
		return true;
	snprintf(spelled, sizeof(spelled), "%s:%s", ev->group->name, ev->row->name);
	return str_glob(pattern, spelled) || str_glob(pattern, ev->row->name) ||
	       str_glob(pattern, ev->row->description);
}

static void add_event(struct buf *out, const struct event *ev)
{
	buf_printf(out, "%s: %s\n", ev->row->name, ev->row->description);
}

static int list_one(const struct event *ev, void *arg)
{
	struct list *l = arg;

	if (!matches(l->pattern, ev))
		return 0;
	if (l->group != ev->group)
		buf_printf(&l->out, "\nGroup %s\n", ev->group->name);
	l->group = ev->group;
	add_event(&l->out, ev);
	return buf_error(&l->out);
}

int list_events(const struct options *o)
{
	struct list l = {.pattern = o->list_pattern};
	int status;

	buf_init(&l.out, MAX_LIST_BYTES);
	catalogue_each(&live_catalogue, list_one, &l); /* its errors are the buffer's */
	if (l.out.len == 0 && o->list_pattern) {
		log_error("no event matches \"%s\"", o->list_pattern);
		status = EXIT_FAILED;
	} else {
		status = print_result(&l.out);
	}
	buf_fini(&l.out);
	return status;
}

int describe_event(const struct options *o)
{
	struct err e = {0};
	struct event ev;
	struct buf out;
	int status, rc = catalogue_find_spelled(&live_catalogue, o->describe_event, &ev, &e);

	if (rc) {
		log_err(LOG_ERROR, &e);
		return rc == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	buf_init(&out, MAX_LIST_BYTES);
	add_event(&out, &ev);
	status = print_result(&out);
	buf_fini(&out);
	return status;
}
