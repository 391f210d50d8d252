#include "profile/about.h"

#include "base/mem.h"
#include "profile/iterator.h"

#include <errno.h>

enum { MAX_NOTES_BYTES = 64 << 10 };

int profile_about_init(struct profile_about *a, size_t nr_events)
{
	*a = (struct profile_about){.nr_events = nr_events, .last_iteration = UINT32_MAX};
	buf_init(&a->notes, MAX_NOTES_BYTES);
	a->ran = mem_calloc(nr_events + 1, sizeof(*a->ran));
	return a->ran ? 0 : -ENOMEM;
}

void profile_about_fini(struct profile_about *a)
{
	mem_free(a->ran);
	buf_fini(&a->notes);
}

static void add_span(struct profile_about *a, const struct profile_trace *t)
{
	if (!t->start_ns || t->end_ns < t->start_ns)
		return;
	if (!a->start_ns || t->start_ns < a->start_ns)
		a->start_ns = t->start_ns;
	if (t->end_ns > a->end_ns)
		a->end_ns = t->end_ns;
	if (t->head.iteration != a->last_iteration)
		a->measured_ns += t->end_ns - t->start_ns;
	a->last_iteration = t->head.iteration;
}

static void add_ran(struct profile_ran *r, const struct profile_pair *p)
{
	uint64_t enabled_ns = p->end.enabled_ns - p->start.enabled_ns;
	uint64_t running_ns = p->end.running_ns - p->start.running_ns;

	if (!p->has_start || !p->has_end || p->end.enabled_ns < p->start.enabled_ns ||
	    running_ns > enabled_ns)
		return;
	r->enabled_ns += enabled_ns;
	r->running_ns += running_ns;
}

const char *profile_about_note(const struct profile_about *a, size_t *at)
{
	const char *note;

	if (*at >= a->notes.len)
		return NULL;
	note = a->notes.data + *at;
	*at += strlen(note) + 1;
	return note;
}

static bool has_note(const struct profile_about *a, const char *wanted)
{
	const char *note;

	for (size_t at = 0; (note = profile_about_note(a, &at));)
		if (strcmp(note, wanted) == 0)
			return true;
	return false;
}

void profile_about_add(struct profile_about *a, const struct profile_trace *trace)
{
	add_span(a, trace);
	for (size_t i = 0; i < a->nr_events; i++)
		add_ran(&a->ran[i], &trace->pairs[i]);
	for (size_t i = 0; i < trace->nr_notes; i++)
		if (!has_note(a, trace->notes[i]))
			buf_add(&a->notes, trace->notes[i], strlen(trace->notes[i]) + 1);
	if (trace->target && trace->target->flags & TRACE_TARGET_IS_COMMAND)
		memcpy(a->command, trace->target->text, sizeof(a->command));
	if (trace->is_cut)
		a->cut_iteration = trace->head.iteration;
	a->is_cut |= trace->is_cut;
	if (!a->has_clocks && trace->has_clocks)
		a->clocks = trace->clocks;
	a->has_clocks |= trace->has_clocks;
}

int profile_about_read(struct profile_about *a, const struct profile_session *s,
		       profile_about_fn *each, void *arg)
{
	int rc = profile_about_init(a, profile_session_facts(s)->nr_events), got = 1;
	struct profile_iterator *it = profile_iterator_new(s);
	struct profile_trace trace;

	while (rc == 0 && (got = profile_iterator_next(it, &trace)) == 1) {
		profile_about_add(a, &trace);
		rc = each ? each(arg, &trace) : 0;
	}
	profile_iterator_free(it);
	return got < 0 ? got : rc;
}

int profile_about_read_iteration(struct profile_about *a, const struct profile_session *s,
				 uint32_t iteration)
{
	int rc = profile_about_init(a, profile_session_facts(s)->nr_events), got = 1;
	struct profile_iterator *it = profile_iterator_new(s);
	struct profile_trace trace;

	if (it)
		profile_iterator_seek(it, iteration);
	while (rc == 0 && (!it || profile_iterator_ahead(it) == iteration) &&
	       (got = profile_iterator_next(it, &trace)) == 1)
		if (trace.head.iteration == iteration)
			profile_about_add(a, &trace);
	profile_iterator_free(it);
	return got < 0 ? got : rc;
}

uint64_t profile_about_realtime(const struct profile_about *a, uint64_t monotonic_ns)
{
	if (!a->has_clocks || !monotonic_ns)
		return 0;
	return a->clocks.realtime_ns - a->clocks.monotonic_ns + monotonic_ns;
}
