/*
 * The events and the sampling that options name: --event, --frequency, --period, --callgraph.
 */
#include "api/names.h"
#include "base/buf.h"
#include "base/log.h"
#include "bpf/waits.h"
#include "event/catalogue.h"
#include "host/host.h"
#include "program.h"
#include "spec/spec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CHOICE_BYTES = 1 << 20 };

bool chooses_events(const struct options *o)
{
	return o->events.nr || o->frequency || o->period || o->callgraph;
}

/* One argument of --event. */
static int add_events(const char *list, const struct catalogue *c, struct spec *spec,
		      struct buf *found, struct err_list *errs)
{
	char buf[OPT_MAX_ORIGIN];

	return api_names_add(list, opt_origin(cpuperf_options(), "event", list, buf), c, spec,
			     found, errs);
}

/* What is sampled if nothing else is: cycles, or the clock where no PMU counts them. */
static const char *clock_group(const struct catalogue *c, const char **name)
{
	struct event_support here;
	struct err unused = {0};
	struct event ev;

	*name = "unhalted_core_cycles";
	if (catalogue_find(c, "fixed", *name, &ev, &unused) == 0) {
		event_support_check(c->host, &ev, 0, &here);
		if (here.state == READING_OK)
			return "fixed";
	}
	*name = "cpu_clock";
	return "software";
}

static bool is_any_sampled(const struct spec *spec)
{
	for (size_t i = 0; i < spec->nr_events; i++)
		if (spec_event_is_sampled(&spec->events[i]))
			return true;
	return false;
}

/* 997: unlikely to align with a program's periods. */
static int sample_clock(const struct options *o, const struct catalogue *c, struct spec *spec,
			struct err *e)
{
	const struct opt_table *t = cpuperf_options();
	const char *name, *group = clock_group(c, &name);
	char origin[OPT_MAX_ORIGIN];

	if (o->frequency)
		return spec_sample_clock(spec, "frequency", o->frequency,
					 opt_origin(t, "frequency", o->frequency, origin), group,
					 name, e);
	if (o->period)
		return spec_sample_clock(spec, "rate", o->period,
					 opt_origin(t, "period", o->period, origin), group, name,
					 e);
	if (o->callgraph && !is_any_sampled(spec))
		return spec_sample_clock(spec, "frequency", "997", "--callgraph", group, name, e);
	return 0;
}

/* -F and -c are the pace of a clock: who names a wait beside them may expect its samples. */
static void log_counted_waits(const struct options *o, const struct catalogue *c,
			      const struct spec *spec)
{
	const char *option = o->frequency ? "--frequency" : "--period", *name;
	const char *group = clock_group(c, &name);

	for (size_t i = 0; i < spec->nr_events; i++) {
		const struct spec_event *asked = &spec->events[i];
		struct err unused = {0};
		struct event ev;

		if (!asked->is_named || spec_event_is_sampled(asked) ||
		    catalogue_find(c, asked->group_name, asked->event_name, &ev, &unused) ||
		    event_wait(&ev) < 0 || event_wait(&ev) == WAITS_WAKEUPS)
			continue;
		log_info("%s samples %s:%s; %s is counted", option, group, name, asked->event_name);
		log_info("to sample it too, once per ms of waiting: --event=%s@1000000",
			 asked->event_name);
	}
}

/* Who asks for a clock alone may expect its samples, as perf record has them. */
static void log_counted_clocks(const struct catalogue *c, const struct spec *spec)
{
	for (size_t i = 0; i < spec->nr_events; i++) {
		const struct spec_event *asked = &spec->events[i];
		struct err unused = {0};
		struct event ev;

		if (spec_event_is_sampled(asked) ||
		    catalogue_find(c, asked->group_name, asked->event_name, &ev, &unused) ||
		    !event_is_clock(&ev))
			return;
	}
	if (spec->nr_events)
		log_info("it is counted; to sample it, which says where: --event=%s@997Hz",
			 spec->events[0].event_name);
}

int choose_events(const struct options *o, const struct catalogue *c, struct spec *spec,
		  struct err_list *errs)
{
	struct err e = {0};
	struct buf found;
	int rc = 0;

	buf_init(&found, MAX_CHOICE_BYTES);
	for (size_t i = 0; i < o->events.nr; i++) {
		int one = add_events(o->events.item[i], c, spec, &found, errs);

		rc = rc ? rc : one;
	}
	if (rc == 0 && (rc = sample_clock(o, c, spec, &e)))
		(void)err_list_insert(errs, &e);
	if (rc == 0 && o->callgraph)
		spec_set_callgraph(spec, o->callgraph);
	if (rc == 0 && found.len)
		log_info("events: %s", buf_str(&found));
	if (rc == 0 && (o->frequency || o->period))
		log_counted_waits(o, c, spec);
	if (rc == 0 && o->events.nr && !o->spec_file)
		log_counted_clocks(c, spec);
	buf_fini(&found);
	return rc;
}
