#include "profile/spans.h"

#include "base/cause.h"
#include "base/mem.h"
#include "profile/filter.h"
#include "profile/iterator.h"
#include "trace/trace.h"

#include <errno.h>

/* The traces of an iteration. */
struct gathering {
	struct profile_spans *to;
	struct profile_span span; /* to_ns 0: it has no time */
	struct profile_span held; /* the same */
	bool is_any, is_held;     /* a flight recorder's */
	uint32_t cause;
};

void profile_spans_fini(struct profile_spans *s)
{
	mem_free(s->item);
	*s = (struct profile_spans){.item = NULL};
}

static int add(struct profile_spans *s, const struct profile_span *span)
{
	struct profile_span *to = MEM_ADD(s->item, s->nr, s->room);

	if (!to)
		return -ENOMEM;
	*to = *span;
	return 0;
}

static void widen(struct profile_span *s, uint64_t from_ns, uint64_t to_ns)
{
	if (!s->to_ns || from_ns < s->from_ns)
		s->from_ns = from_ns;
	if (to_ns > s->to_ns)
		s->to_ns = to_ns;
}

/* Times of files are not trusted: a span begins after the one before it. */
static int end_iteration(struct gathering *r)
{
	struct profile_span *span = r->is_held ? &r->held : &r->span;
	uint64_t after_ns = r->to->nr ? r->to->item[r->to->nr - 1].to_ns : 0;

	if (!r->is_any || (!r->is_held && !r->span.to_ns))
		return 0;
	if (!r->to->nr && !r->span.is_apart && !r->is_held)
		span->from_ns = 0;
	if (span->from_ns < after_ns)
		span->from_ns = after_ns;
	if (span->to_ns < span->from_ns)
		span->to_ns = span->from_ns;
	span->iteration = r->span.iteration;
	span->is_apart = r->span.is_apart || r->is_held;
	r->to->end_ns = span->to_ns;
	return add(r->to, span);
}

static int add_trace(struct gathering *r, const struct profile_trace *t)
{
	const struct trace_held *held = t->sampling ? &t->sampling->held : NULL;
	int rc = 0;

	if (!r->is_any || t->head.iteration != r->span.iteration) {
		rc = end_iteration(r);
		*r = (struct gathering){
		    .to = r->to, .is_any = true, .span = {.iteration = t->head.iteration}};
	}
	r->span.is_apart |= t->window != NULL;
	r->cause = t->cause;
	if (t->start_ns && t->end_ns >= t->start_ns)
		widen(&r->span, t->start_ns, t->end_ns);
	if (held && held->wanted_ns) {
		r->is_held = true;
		if (held->to_ns > held->from_ns)
			widen(&r->held, held->from_ns, held->to_ns);
	}
	return rc;
}

int profile_spans_read(struct profile_spans *s, const struct profile_session *session)
{
	struct profile_iterator *it = profile_iterator_new(session);
	struct gathering r = {.to = s};
	struct profile_trace t;
	int rc = 0, got = 1;

	while (rc == 0 && (got = profile_iterator_next(it, &t)) == 1)
		rc = add_trace(&r, &t);
	profile_iterator_free(it);
	rc = got < 0 ? got : rc ?: end_iteration(&r);
	if (rc == 0 && s->nr && !r.is_held && r.cause != CAUSE_WINDOW)
		s->item[s->nr - 1].to_ns = UINT64_MAX;
	return rc;
}

int profile_span_switches_add(struct profile_span_switches *s, const struct trace_switch *change)
{
	struct trace_switch *to;

	if (s->nr && change->time_ns < s->item[s->nr - 1].time_ns)
		return -EINVAL;
	to = MEM_ADD(s->item, s->nr, s->room);
	if (!to)
		return -ENOMEM;
	*to = *change;
	return 0;
}

void profile_span_switches_fini(struct profile_span_switches *s)
{
	mem_free(s->item);
	*s = (struct profile_span_switches){.item = NULL};
}

/* How far the switches were read. */
struct cut {
	const struct profile_span_switches *off;
	size_t next;
	bool is_off;
};

/* Adds the parts of a span in which events were enabled. */
static int add_parts(struct profile_spans *to, const struct profile_span *span, struct cut *c)
{
	struct profile_span part = *span;
	int rc = 0;

	for (; c->next < c->off->nr && c->off->item[c->next].time_ns < span->to_ns && rc == 0;
	     c->next++) {
		const struct trace_switch *change = &c->off->item[c->next];

		if (c->is_off == !change->is_on)
			continue;
		c->is_off = !change->is_on;
		if (change->time_ns <= part.from_ns)
			continue;
		if (c->is_off) {
			part.to_ns = change->time_ns;
			rc = add(to, &part);
			part.to_ns = span->to_ns;
		} else {
			part.from_ns = change->time_ns;
			part.is_apart = true;
		}
	}
	return rc ?: c->is_off ? 0 : add(to, &part);
}

int profile_spans_switch(struct profile_spans *s, const struct profile_span_switches *off)
{
	static const struct profile_span all = {.to_ns = UINT64_MAX}, none = {.to_ns = 0};
	struct profile_spans out = {.end_ns = s->end_ns};
	struct cut c = {.off = off};
	int rc = 0;

	if (!off->nr)
		return 0;
	for (size_t i = 0; i < s->nr && rc == 0; i++)
		rc = add_parts(&out, &s->item[i], &c);
	rc = rc ?: s->nr ? 0 : add_parts(&out, &all, &c);
	if (rc == 0 && !out.nr) /* no spans would be all times */
		rc = add(&out, &none);
	if (rc) {
		mem_free(out.item);
		return rc;
	}
	mem_free(s->item);
	*s = out;
	return 0;
}

static int join(const struct profile_spans *s, const struct profile_filter *f,
		struct profile_spans *out)
{
	static const struct profile_span all = {.to_ns = UINT64_MAX};
	bool follows = false;
	int rc = s->nr ? 0 : add(out, &all);

	for (size_t i = 0; i < s->nr && rc == 0; i++) {
		const struct profile_span *span = &s->item[i];

		if (!profile_ranges_has(&f->iterations, span->iteration)) {
			follows = false;
			continue;
		}
		if (follows && !span->is_apart)
			out->item[out->nr - 1].to_ns = span->to_ns;
		else
			rc = add(out, span);
		follows = true;
	}
	return rc;
}

int profile_spans_select(const struct profile_spans *s, const struct profile_filter *f,
			 uint64_t start_ns, struct profile_spans *out)
{
	uint64_t from_ns = 0, to_ns = UINT64_MAX;
	size_t nr = 0;
	int rc;

	if (f->from_ns && __builtin_add_overflow(start_ns, f->from_ns, &from_ns))
		from_ns = UINT64_MAX;
	if (f->to_ns && __builtin_add_overflow(start_ns, f->to_ns, &to_ns))
		to_ns = UINT64_MAX;
	*out = (struct profile_spans){.item = NULL};
	rc = join(s, f, out);
	for (size_t i = 0; i < out->nr; i++) {
		struct profile_span span = out->item[i];

		span.from_ns = span.from_ns > from_ns ? span.from_ns : from_ns;
		span.to_ns = span.to_ns < to_ns ? span.to_ns : to_ns;
		if (span.from_ns < span.to_ns)
			out->item[nr++] = span;
	}
	out->nr = nr;
	return rc;
}

uint64_t profile_spans_ns(const struct profile_spans *s, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < s->nr; i++) {
		uint64_t from = s->item[i].from_ns > from_ns ? s->item[i].from_ns : from_ns;
		uint64_t to = s->item[i].to_ns < to_ns ? s->item[i].to_ns : to_ns;

		ns += from < to ? to - from : 0;
	}
	return ns;
}

uint64_t profile_spans_last(const struct profile_spans *s, uint64_t time_ns)
{
	uint64_t last_ns = 0;

	for (size_t i = 0; i < s->nr && s->item[i].from_ns <= time_ns; i++)
		last_ns = s->item[i].to_ns > time_ns ? time_ns : s->item[i].to_ns - 1;
	return last_ns;
}
