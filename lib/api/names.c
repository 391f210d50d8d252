/*
 * From the names of events to a spec.
 */
#include "api/names.h"

#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A name without a group is looked up in several; *found then lists the choice. */
static int find_event(const struct catalogue *c, const char *name, struct buf *found,
		      struct event *ev, struct err *e)
{
	int rc;

	if (strchr(name, ':'))
		return catalogue_find_spelled(c, name, ev, e);
	rc = catalogue_find_bare(c, name, ev, e);
	if (rc == 0 && found)
		buf_printf(found, "%s%s:%s", found->len ? ", " : "", ev->group->name, name);
	return rc;
}

static int refuse_repeated(const char *spelled, bool is_sampled, bool can_be_sampled, struct err *e)
{
	err_set(e, -EINVAL, "%s appears twice%s", spelled, is_sampled ? " at the same rate" : "");
	if (is_sampled)
		err_hint(e, "remove one, or count one of them: %s", spelled);
	else
		err_hint(e, "remove one%s%s%s", can_be_sampled ? ", or sample one of them: " : "",
			 can_be_sampled ? spelled : "", can_be_sampled ? "@RATE" : "");
	return -EINVAL;
}

static int name_event(struct spec *spec, const struct event *ev, const char *spelled,
		      const struct spec_spelled *asked, const char *origin)
{
	const char *colon = strchr(spelled, ':'), *name = colon ? colon + 1 : spelled;
	struct spec_ended ended = {.longer_ns = asked->longer_ns,
				   .when_column = asked->when_column};

	if (asked->when) {
		ended.when = arena_strndup(&spec->arena, asked->when, asked->when_len);
		ended.when_source = arena_strndup(&spec->arena, origin, strlen(origin));
		if (!ended.when || !ended.when_source)
			return -ENOMEM;
	}
	if (asked->every_ns)
		return spec_name_misc(spec, ev->group->name, name, asked->every_ns);
	if (ended.longer_ns || ended.when)
		return spec_name_ended(spec, ev->group->name, name, &ended);
	return spec_name_event(spec, ev->group->name, name, asked->rate, asked->frequency);
}

static int add_event(const struct catalogue *c, struct spec *spec, const struct spec_spelled *asked,
		     const char *origin, struct buf *found, struct err *e)
{
	const char *spelled = arena_strndup(&spec->arena, asked->name, asked->len);
	bool is_sampled = asked->rate || asked->frequency;
	struct event ev;
	int rc;

	if (!spelled)
		return err_set(e, -ENOMEM, "out of memory");
	rc = find_event(c, spelled, found, &ev, e);
	if (rc)
		return rc;
	if (is_sampled && event_group_is_misc(ev.group)) {
		err_set(e, -EINVAL, "%s: a misc event cannot be sampled", spelled);
		err_hint(e, "omit what follows the name: it is read when the others are; or set "
			    "its own pace, as a time with a unit: @0.1s");
		return -EINVAL;
	}
	if (asked->every_ns && !event_group_is_misc(ev.group)) {
		err_set(e, -EINVAL, "%s: only events of misc and gpu have a pace of their own",
			spelled);
		err_hint(e, "@997Hz: samples per second; @10000: events between two samples");
		return -EINVAL;
	}
	if (asked->longer_ns && !event_is_function(&ev)) {
		err_set(e, -EINVAL, "%s: only events of function have a shortest duration",
			spelled);
		err_hint(e, "the events of latency have how long things took");
		return -EINVAL;
	}
	rc = name_event(spec, &ev, spelled, asked, origin);
	if (rc == -EEXIST)
		return refuse_repeated(spelled, is_sampled, event_can_be_sampled(&ev), e);
	return rc ? err_set(e, rc, "%s: %s", spelled, strerror(-rc)) : 0;
}

int api_names_add(const char *list, const char *origin, const struct catalogue *c,
		  struct spec *spec, struct buf *found, struct err_list *errs)
{
	int rc = 0, one = 1;
	size_t at = 0;

	while (one > 0) {
		struct spec_spelled asked;
		struct err e = {0};

		one = spec_scan_event(list, &at, origin, &asked, &e);
		if (one > 0 && add_event(c, spec, &asked, origin, found, &e)) {
			snprintf(e.source, sizeof(e.source), "%s", origin);
			e.line = 1;
			e.column = asked.column;
			rc = e.code;
		}
		if (e.code)
			(void)err_list_insert(errs, &e);
	}
	return rc ? rc : one;
}
