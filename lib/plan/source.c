#include "plan/source.h"

#include "base/array.h"
#include "base/err.h"
#include "plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_of_groups(const struct source *s, const struct event *ev)
{
	return ARRAY_ANY(id, s->groups, ARRAY_NR(s->groups), *id == ev->group->id);
}

const struct source *source_of(const struct plan *plan, const struct plan_event *p)
{
	for (const struct source *const *s = source_table + 1; *s; s++)
		if (is_of_groups(*s, &p->event) && (!(*s)->is_own || (*s)->is_own(plan, p)))
			return *s;
	return source_table[0];
}

void source_use_clear(struct source_use *u)
{
	memset(u + 1, 0, u->source->bytes - sizeof(*u));
}

int source_refuse_sampling(const struct plan_event *p, const char *hint, struct err *e)
{
	err_set(e, -EINVAL, "%s:%s can be counted, not sampled", p->event.group->name,
		p->event.row->name);
	err_hint(e, "write it without a rate%s", hint);
	return -EINVAL;
}

int source_refuse_timebase(const struct plan_event *p, struct err *e)
{
	return err_set(e, -EINVAL, "%s:%s cannot be the timebase", p->event.group->name,
		       p->event.row->name);
}

int source_check_once(const struct plan *plan, const struct plan_event *p, struct err *e)
{
	if (!spec_event_is_sampled(p->asked) ||
	    !ARRAY_ANY(q, plan->events, (size_t)(p - plan->events),
		       q->event.row == p->event.row && spec_event_is_sampled(q->asked)))
		return 0;
	err_set(e, -EINVAL, "%s:%s can be sampled at one rate only", p->event.group->name,
		p->event.row->name);
	err_hint(e, "remove one, or count it beside its samples: without a rate");
	return -EINVAL;
}

void source_explain(int error, const struct err *e, struct event_support *out)
{
	bool is_denied = error == -EPERM;

	*out = (struct event_support){.state = is_denied ? READING_NO_PERMISSION
							 : READING_NOT_SUPPORTED};
	snprintf(out->reason, sizeof(out->reason), "%.255s", e->msg);
	snprintf(out->hint, sizeof(out->hint), "%s",
		 is_denied ? "run as root, or permit it to the program's file or container: "
			     "cpuperf-rights(7)"
			   : "");
}
