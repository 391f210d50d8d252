/*
 * Reads the array of events into the model. check.c has the rules between events.
 */
#include "base/arena.h"
#include "base/err.h"
#include "spec/check.h"
#include "spec/diag.h"
#include "spec/doc.h"

#include <errno.h>
#include <string.h>

enum { DEFAULT_STACK_BYTES = 16 << 10 };

/* One more than allowed, so that the check can name the first beyond the limit. */
enum { READ_MAX = SPEC_MAX_PERF_EVENTS + SPEC_MAX_MISC_EVENTS + 1 };

static int read_event(struct doc *d, const json_t *value, int node, struct spec_event *event)
{
	char is[128];

	*event = (struct spec_event){.pos = scan_node(&d->scan, node)->value_pos};
	if (json_is_object(value)) {
		int rc = doc_read(d, value, node, KEY_EVENT, event);

		if (event->when)
			event->when_has_escapes = doc_has_escapes(d, node, "when", event->when);
		return rc;
	}
	diag_value(value, is, sizeof(is));
	diag_at(d->errs, d->source, event->pos, "an event must be an object, not %s", is);
	return 0;
}

int doc_read_events(struct doc *d, const json_t *array, int node, void *target)
{
	struct spec *s = target;
	size_t nr = json_array_size(array);

	if (nr == 0)
		diag_at(d->errs, d->source, s->events_pos,
			"No events specified: \"events\" is empty");
	nr = nr < READ_MAX ? nr : READ_MAX;
	s->events = arena_calloc(d->arena, nr, sizeof(*s->events));
	if (!s->events)
		return diag_no_memory(d->errs, d->source);
	s->max_events = nr;
	for (size_t i = 0; i < nr; i++) {
		struct spec_event *event = &s->events[s->nr_events];
		size_t errors = diag_count(d->errs);
		int rc;

		*event = (struct spec_event){0};
		rc = read_event(d, json_array_get(array, i), scan_item(&d->scan, node, i), event);
		if (rc)
			return rc;
		/* an event with errors is not checked further: that would only repeat them */
		if (diag_count(d->errs) == errors)
			s->nr_events++;
		else if (event->group_name && event->event_name)
			s->events[nr - ++s->nr_broken] = *event;
	}
	if (s->nr_broken)
		memmove(s->events + s->nr_events, s->events + nr - s->nr_broken,
			s->nr_broken * sizeof(*s->events));
	return 0;
}

/* Nothing of sampling that the text has for the event. Events of misc have no samples. */
static void inherit(const struct spec_event *from, struct spec_event *event)
{
	bool is_sampled = event->is_sampled || spec_event_is_sampled(event) ||
			  spec_event_is_of_ended(event) || event->flags & CHECK_SAMPLE_FLAGS;

	if (!is_sampled || spec_group_is_misc(event->group_name))
		return;
	if (!event->rate_pos.line && !event->frequency_pos.line) {
		event->rate = from->rate;
		event->frequency = from->rate ? 0 : from->frequency;
	}
	if (!event->flags_pos.line)
		event->flags = from->flags & ~(unsigned)SPEC_TIMEBASE;
	if (!event->stack_pos.line && event->flags & SPEC_USER_STACK)
		event->stack_bytes = from->stack_bytes;
	if (!event->branch_pos.line && event->flags & SPEC_LAST_BRANCH)
		event->branch_filter = from->branch_filter;
	if (!event->max_frequency_pos.line && check_may_thin(event))
		event->max_frequency = from->max_frequency;
	if (!event->unwind_pos.line && event->flags & SPEC_USER_STACK)
		event->is_unwound = from->is_unwound;
	if (!event->aggregate_pos.line)
		event->is_aggregated = from->is_aggregated;
	event->is_sampled = event->is_sampled && !spec_event_is_sampled(event);
}

void doc_complete_events(struct spec *s)
{
	for (size_t i = 0; i < s->nr_events; i++) {
		struct spec_event *event = &s->events[i];

		inherit(&s->sampling, event);
		if (spec_event_is_of_ended(event) && !event->rate_pos.line &&
		    !event->frequency_pos.line) {
			event->rate = 1;
			event->frequency = 0;
		}
		if (!(event->flags & (SPEC_OS | SPEC_USER)))
			event->flags |= SPEC_OS | SPEC_USER;
		if (event->flags & SPEC_USER_STACK && !event->is_unwound && !event->stack_bytes)
			event->stack_bytes = DEFAULT_STACK_BYTES;
	}
}
