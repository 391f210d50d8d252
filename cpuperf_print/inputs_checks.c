/*
 * Whether inputs fit together, and have what is selected of them.
 */
#include "inputs.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "profile/filter.h"
#include "profile/records.h"
#include "trace/trace.h"

#include <errno.h>
#include <string.h>

enum { MAX_NAMES_BYTES = 200 };
static int check_iterations(const struct input *o, struct err *e)
{
	const struct profile_ranges *r = &o->filter->iterations;
	size_t nr = o->facts->nr_iterations;

	if (ARRAY_ANY(x, r->item, r->nr, x->first < nr))
		return 0;
	err_set_at(e, -EINVAL, o->path, 0, 0, "--diff=@%s: it has %zu iteration%s, from 0",
		   o->iterations, nr, str_plural(nr, "", "s"));
	return -EINVAL;
}

/* Of those that are compared: one at least has some that were chosen. */
static int check_chosen(const struct inputs *in, const struct profile_ranges *chosen, struct err *e)
{
	size_t nr = 0;

	if (!in->nr_diff || !chosen->nr)
		return 0;
	for (size_t i = 0; i < in->nr; i++)
		nr = in->item[i].facts->nr_iterations > nr ? in->item[i].facts->nr_iterations : nr;
	if (ARRAY_ANY(x, chosen->item, chosen->nr, x->first < nr))
		return 0;
	err_set_at(e, -EINVAL, in->item[0].path, 0, 0,
		   "--iteration: it has %zu iteration%s, from 0", nr, str_plural(nr, "", "s"));
	return -EINVAL;
}

int inputs_select(struct inputs *in, const struct profile_filter *filter, struct err *e)
{
	int rc = check_chosen(in, &filter->iterations, e);

	for (size_t i = in->nr; i < in->nr + in->nr_diff && rc == 0; i++) {
		struct input *o = &in->item[i];

		if (!o->iterations)
			continue;
		o->filter = mem_alloc(sizeof(*o->filter));
		if (!o->filter)
			return err_set(e, -ENOMEM, "out of memory");
		*o->filter = *filter;
		o->filter->iterations.nr = 0;
		rc = profile_ranges_parse(&o->filter->iterations, "--diff", o->iterations, e)
			 ?: check_iterations(o, e);
	}
	return rc;
}

bool inputs_have_parts(const struct inputs *in)
{
	return ARRAY_ANY(x, in->item, in->nr + in->nr_diff, x->iterations);
}

int inputs_check_common(const struct input *o, struct err *e)
{
	struct profile_records *records;
	struct profile_item item;
	int rc = input_has_common(o) && !o->import
		     ? profile_session_common(o->session, false, &records)
		     : 0;

	if (rc == 1) {
		do
			rc = profile_records_next(records, &item);
		while (rc == 1);
		profile_records_close(records);
	}
	return rc ? err_set(e, rc, "the common file cannot be read: %s", strerror(-rc)) : 0;
}

static bool is_same_event(const struct trace_event *a, const struct trace_event *b)
{
	return strcmp(a->group, b->group) == 0 && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->label, b->label) == 0 && a->rate == b->rate &&
	       a->frequency == b->frequency;
}

int inputs_check_same_events(const struct inputs *in, struct err *e)
{
	const struct profile_facts *a = in->item[0].facts;

	for (size_t i = 1; i < in->nr + in->nr_diff; i++) {
		const struct profile_facts *b = in->item[i].facts;
		size_t same = 0;

		while (same < a->nr_events && same < b->nr_events &&
		       is_same_event(&a->events[same], &b->events[same]))
			same++;
		if (same == a->nr_events && same == b->nr_events)
			continue;
		err_set_at(e, -EINVAL, in->item[i].path, 0, 0,
			   "measured other events than %s: event %zu or its rate differs",
			   in->item[0].path, same + 1);
		err_hint(e, "only sessions of the same spec are added up or compared; %s",
			 in->item[i].part ? "--by-host prints each host, and --host=GLOB some"
					  : "--by-session prints each one");
		return -EINVAL;
	}
	return 0;
}

/* True if a column of the reports matches: an event of the session, or a metric. */
static bool has_event(const struct input *o, const struct profile_filter *of)
{
	if (ARRAY_ANY(x, o->facts->events, o->facts->nr_events, profile_filter_has_event(of, x)))
		return true;
	for (size_t i = 0; i < o->spec.nr_metrics; i++) {
		const struct trace_event metric = {.group = "metric",
						   .name = o->spec.metrics[i].name};

		if (profile_filter_has_event(of, &metric))
			return true;
	}
	return false;
}

int inputs_check_event_globs(const struct inputs *in, const struct profile_filter *filter,
			     struct err *e)
{
	BUF_AUTO(names, MAX_NAMES_BYTES);
	const struct profile_facts *f = in->item[0].facts;

	for (size_t i = 0; i < filter->events.nr; i++) {
		const struct profile_filter one = {
		    .events = {.item = {filter->events.item[i]}, .nr = 1}};

		if (ARRAY_ANY(x, in->item, in->nr + in->nr_diff, has_event(x, &one)))
			continue;
		for (size_t k = 0; k < f->nr_events; k++)
			buf_printf(&names, "%s%s", k ? ", " : "", f->events[k].name);
		err_set(e, -EINVAL, "--event=%s: no event of the session matches",
			one.events.item[0]);
		if (!buf_error(&names))
			err_hint(e, "%s: %s",
				 in->nr + in->nr_diff > 1 ? "events of the first session"
							  : "its events",
				 buf_str(&names));
		return -EINVAL;
	}
	return 0;
}

bool inputs_are_alike(const struct inputs *in)
{
	struct err ignored = {0};

	return inputs_check_same_events(in, &ignored) == 0;
}
