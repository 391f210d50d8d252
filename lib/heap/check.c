/*
 * What a spec may ask of the events of the groups heap and resource: a program adds up by stack, in
 * itself, with one rate for all.
 */
#include "heap/heap.h"

#include "base/err.h"
#include "plan/plan.h"

#include <errno.h>
#include <inttypes.h>

enum { MIN_TIME_NS = 100000, NS_PER_S = 1000000000 };
static const uint64_t MAX_TIME_NS = UINT64_C(1) << 42, MAX_BYTES = UINT64_C(1) << 40;

/* The first event of memory with a rate; NULL: none has one. */
static const struct plan_event *sampled_memory(const struct plan *plan,
					       const struct plan_event *until)
{
	for (const struct plan_event *q = plan->events; q < until; q++)
		if (q->source == &heap_source && !event_is_resource(&q->event) && q->asked->rate)
			return q;
	return NULL;
}

/* Of the events until then: a search for what nothing points to has to know all blocks. */
static bool is_searched_in_part(const struct plan *plan, const struct plan_event *until)
{
	const struct plan_event *sampled = sampled_memory(plan, until);

	for (const struct plan_event *q = plan->events; q < until; q++)
		if (q->source && event_heap(&q->event) == EVENT_HEAP_UNREACHABLE)
			return sampled && sampled->asked->rate > 1;
	return false;
}

static int check_time(const struct plan_event *p, struct spec_pos *pos, struct err *e)
{
	const struct spec_event *asked = p->asked;
	const char *group = p->event.group->name, *name = p->event.row->name;

	*pos = asked->frequency ? asked->frequency_pos : asked->rate_pos;
	if (spec_event_is_sampled(asked) && plan_interval_ns(asked) < MIN_TIME_NS) {
		err_set(e, -EINVAL, "%s:%s: a thread has at most %d samples per second", group,
			name, NS_PER_S / MIN_TIME_NS);
		err_hint(e, "the rate is in ns: 1000000 is 1 kHz");
		return -EINVAL;
	}
	return asked->rate > MAX_TIME_NS
		   ? err_set(e, -EINVAL, "%s:%s: the rate is at most %" PRIu64 " ns", group, name,
			     MAX_TIME_NS)
		   : 0;
}

static int check_resource(const struct plan_event *p, struct spec_pos *pos, struct err *e)
{
	*pos = p->asked->rate_pos;
	return p->asked->rate > 1 ? err_set(e, -EINVAL, "%s:%s: the rate is 1, as each is a sample",
					    p->event.group->name, p->event.row->name)
				  : 0;
}

static int check_memory(const struct plan *plan, const struct plan_event *p, struct spec_pos *pos,
			struct err *e)
{
	const struct plan_event *other = sampled_memory(plan, p);
	const struct spec_event *asked = p->asked;

	*pos = asked->rate ? asked->rate_pos : *pos;
	if (asked->rate > MAX_BYTES)
		return err_set(e, -EINVAL, "heap:%s: the rate is at most %" PRIu64 " bytes",
			       p->event.row->name, MAX_BYTES);
	if (is_searched_in_part(plan, p + 1)) {
		err_set(e, -EINVAL,
			"heap:unreachable requires a rate of 1: blocks that are not sampled may "
			"have pointers to others");
		err_hint(e, "use a rate of 1 for all events of the group heap, or none");
		return -EINVAL;
	}
	if (!asked->rate || !other || other->asked->rate == asked->rate)
		return 0;
	err_set(e, -EINVAL, "heap:%s has another rate than heap:%s: a program is sampled at one",
		p->event.row->name, other->event.row->name);
	err_hint(e, "use the same rate, or none to count it");
	return -EINVAL;
}

static int check_rate(const struct plan *plan, const struct plan_event *p, struct spec_pos *pos,
		      struct err *e)
{
	return event_is_time(&p->event)       ? check_time(p, pos, e)
	       : event_is_resource(&p->event) ? check_resource(p, pos, e)
					      : check_memory(plan, p, pos, e);
}

static int check_frequency(const struct plan_event *p, struct spec_pos *pos, struct err *e)
{
	if (!p->asked->frequency || event_is_time(&p->event))
		return 0;
	*pos = p->asked->frequency_pos;
	return err_set(e, -EINVAL, "%s:%s has no frequency: its rate is %s", p->event.group->name,
		       p->event.row->name,
		       event_is_resource(&p->event) ? "1" : "the bytes per sample");
}

static int check_flags(const struct plan_event *p, struct spec_pos *pos, struct err *e)
{
	enum { MAY = SPEC_OS | SPEC_USER | SPEC_PC | SPEC_CALLCHAIN | SPEC_OPTIONAL };
	const struct spec_event *asked = p->asked;
	const bool is_resource = event_is_resource(&p->event);

	if (!(asked->flags & ~(unsigned)(is_resource ? MAY : MAY | SPEC_ADAPTIVE)))
		return 0;
	*pos = asked->flags_pos.line ? asked->flags_pos : asked->pos;
	return err_set(e, -EINVAL, "%s:%s: of flags only %s have a meaning", p->event.group->name,
		       p->event.row->name,
		       is_resource ? "\"pc\" and \"callchain\""
				   : "\"pc\", \"callchain\" and \"adaptive\"");
}

static int check_flight(const struct plan *plan, const struct plan_event *p, struct err *e)
{
	if (!spec_event_is_sampled(p->asked) || !plan->spec->flight.span_ns)
		return 0;
	err_set(e, -EINVAL, "%s:%s: no flight recorder holds its samples, which are sums",
		p->event.group->name, p->event.row->name);
	err_hint(e, "remove flight_recorder, or the rate");
	return -EINVAL;
}

int heap_check(const struct plan *plan, const struct plan_event *p, struct spec_pos *pos,
	       struct err *e)
{
	const struct spec_event *asked = p->asked;
	const struct spec_pos name = *pos;

	if (p->source != &heap_source && asked->flags & SPEC_ADAPTIVE) {
		*pos = asked->flags_pos.line ? asked->flags_pos : asked->pos;
		return err_set(e, -EINVAL, "the flag \"adaptive\" is for events of the group heap");
	}
	if (p->source != &heap_source)
		return 0;
	if (p == plan->timebase)
		return source_refuse_timebase(p, e);
	if (check_frequency(p, pos, e))
		return -EINVAL;
	if (asked->rate && !event_can_be_sampled(&p->event))
		return source_refuse_sampling(p, "", e);
	if (source_check_once(plan, p, e))
		return -EINVAL;
	if (check_rate(plan, p, pos, e) || check_flags(p, pos, e))
		return -EINVAL;
	*pos = name;
	return check_flight(plan, p, e);
}
