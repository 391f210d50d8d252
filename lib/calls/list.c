/*
 * Each function of the plan's events once, with the events that have it: a call is then one hit,
 * however many events count it, and has one place among the open calls of its task.
 */
#include "base/err.h"
#include "base/mem.h"
#include "calls/way.h"
#include "functions/functions.h"
#include "functions/signature.h"
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	const struct functions_place *x = ((const struct calls_function *)a)->place;
	const struct functions_place *y = ((const struct calls_function *)b)->place;

	return strcmp(x->path, y->path) ?: x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int add_event(struct calls_list *l, const struct plan *plan, size_t event)
{
	const struct plan_event *p = &plan->events[event];

	for (uint32_t i = 0; i < p->event.row->nr_functions; i++) {
		struct calls_function *f = MEM_ADD(l->function, l->nr, l->room);

		if (!f)
			return -ENOMEM;
		*f = (struct calls_function){.place = &p->event.row->functions[i],
					     .events = 1ULL << l->nr_events,
					     .signature = p->event.row->functions[i].signature,
					     .signed_by = l->nr_events,
					     .is_kept = p->asked->flags & SPEC_UNSAFE};
	}
	l->rate[l->nr_events] = plan_rate(plan, p);
	if (spec_event_is_of_ended(p->asked))
		l->ended |= 1ULL << l->nr_events;
	l->event[l->nr_events++] = (uint32_t)event;
	return 0;
}

static bool is_same_value(const struct functions_value *a, const struct functions_value *b)
{
	return strcmp(a->name, b->name) == 0 && a->kind == b->kind && a->bytes == b->bytes &&
	       a->where == b->where && a->number == b->number;
}

static bool is_same(const struct functions_signature *a, const struct functions_signature *b)
{
	bool is = a->nr == b->nr && a->is_of_file == b->is_of_file;

	for (size_t i = 0; i < a->nr && is; i++)
		is = is_same_value(&a->value[i], &b->value[i]);
	return is;
}

/* One signature is enough for all events that have the function. */
static int merge_signatures(struct calls_function *to, const struct calls_function *f,
			    struct err *e)
{
	if (!f->signature)
		return 0;
	if (to->signature && !is_same(to->signature, f->signature))
		return err_set(e, -ENOTSUP, "two events have signatures of %.100s that differ",
			       f->place->name);
	to->signature = f->signature;
	to->signed_by = f->signed_by;
	return 0;
}

static int merge(struct calls_list *l, struct err *e)
{
	size_t nr = 0;

	if (l->nr)
		qsort(l->function, l->nr, sizeof(*l->function), compare);
	for (size_t i = 0; i < l->nr; i++) {
		struct calls_function *last = nr ? &l->function[nr - 1] : NULL;
		const struct calls_function *f = &l->function[i];

		if (!last || compare(last, f) != 0) {
			l->function[nr++] = *f;
			continue;
		}
		last->events |= f->events;
		last->is_kept |= f->is_kept;
		if (merge_signatures(last, f, e))
			return -ENOTSUP;
		if (__builtin_popcountll(last->events) > CALLS_MAX_OF_FUNCTION)
			return err_set(e, -ENOTSUP, "more than %d events have the function %.100s",
				       CALLS_MAX_OF_FUNCTION, last->place->name);
	}
	l->nr = nr;
	return 0;
}

int calls_list_make(struct calls_list *l, const struct plan *plan, const struct source *source,
		    struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < plan->nr_events && rc == 0; i++) {
		const struct plan_event *p = &plan->events[i];

		if (p->set == PLAN_NO_SET || p->source != source)
			continue;
		if (l->nr_events == CALLS_MAX_EVENTS)
			return err_set(e, -ENOTSUP, "a session has at most %d events of functions",
				       CALLS_MAX_EVENTS);
		rc = add_event(l, plan, i);
	}
	return rc ?: merge(l, e);
}

void calls_list_fini(struct calls_list *l)
{
	mem_free(l->function);
	*l = (struct calls_list){0};
}
