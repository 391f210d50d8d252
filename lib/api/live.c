/*
 * From a running session to a table.
 */
#include "api/live.h"

#include "collect/collect.h"
#include "counts/formulas.h"
#include "counts/tally.h"
#include "event/model.h"
#include "session/things.h"

#include <errno.h>

/* Some 10,000 rows of a large server, with their boxes, take a tenth of it. */
enum { MAX_ROWS_BYTES = 256 << 20 };

static const struct event_group *const groups[] = {
    &event_arch_group,   &event_fixed_group,    &event_model_group,
    &collect_misc_group, &event_software_group, &event_tracepoint_group,
};

void live_catalogue_init(struct live_catalogue *c, const struct host *host, const char *model)
{
	arena_init(&c->arena, MAX_ROWS_BYTES);
	c->catalogue = (struct catalogue){.groups = groups,
					  .nr_groups = sizeof(groups) / sizeof(groups[0]),
					  .host = host,
					  .arena = host ? &c->arena : NULL,
					  .model = event_model_canonical(model)};
}

void live_catalogue_fini(struct live_catalogue *c)
{
	arena_fini(&c->arena);
}

int live_check_model(const struct live_catalogue *c, const struct spec *spec, struct err_list *errs)
{
	char detected[128];
	struct err e = {0};

	if (!event_model_is_foreign(&c->catalogue) ||
	    event_model_check(spec->model_name, NULL) == -ENOENT)
		return 0;
	event_model_describe_host(c->catalogue.host, detected, sizeof(detected));
	err_set_at(&e, -ENOTSUP, spec->source, spec->model_pos.line, spec->model_pos.column,
		   "this is for the CPU model %s, and this CPU is %s", spec->model_name, detected);
	err_hint(&e, "--check-spec checks it for that model; to measure this CPU, leave model_name "
		     "out or say \"default\"");
	err_list_insert(errs, &e);
	return -ENOTSUP;
}

_Static_assert((int)SAMPLED_OS == SPEC_OS && (int)SAMPLED_USER == SPEC_USER &&
		   (int)SAMPLED_NO_IDLE == SPEC_NO_IDLE && (int)SAMPLED_GUEST == SPEC_GUEST &&
		   (int)SAMPLED_HOST == SPEC_HOST,
	       "flags have one number each");

size_t live_nr_columns(const struct plan *plan)
{
	return plan->nr_events + plan->spec->metric_set.nr;
}

int live_columns(struct table *t, const struct plan *plan, const struct session *s)
{
	for (size_t i = 0; i < plan->nr_events; i++) {
		const struct plan_event *p = &plan->events[i];
		const struct session_event *ev = session_event(s, i);

		t->columns[i] = (struct table_column){
		    .group = p->event.group->name,
		    .name = p->event.row->name,
		    .label = p->label,
		    .unit = p->event.row->unit,
		    .kind = p->event.row->kind,
		    .scope = p->event.row->scope,
		    .scale = p->event.row->scale,
		    .reason = ev->nr_cpus ? NULL : ev->support.reason,
		    .sampling = sampled_event(p->event.group->name, p->event.row->name,
					      p->asked->rate, p->asked->frequency, p->asked->flags),
		};
	}
	table_set_metrics(t, &plan->spec->metric_set);
	return table_add_sampling(t);
}

int live_metrics(const struct session *s, struct arena *a, struct metric_set *out, struct err *e)
{
	const struct plan *plan = session_plan(s);
	struct counts_formula_event *events = arena_calloc(a, plan->nr_events + 1, sizeof(*events));

	if (!events)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < plan->nr_events; i++) {
		const struct plan_event *p = &plan->events[i];

		events[i] =
		    (struct counts_formula_event){p->event.group->name, p->event.row->name,
						  p->asked->flags, !session_event(s, i)->nr_cpus};
	}
	return counts_formulas_join(&plan->spec->metric_set, events, plan->nr_events, a, out, e);
}

/* A cell from the readings of the event's parts on this CPU; most events have one. */
static void set_cell(struct table *t, size_t row, size_t i, const struct session *s,
		     const struct session_trace *trace)
{
	const struct plan_event *p = &session_plan(s)->events[i];
	uint32_t nr = 0;

	for (uint32_t k = p->first_part; k < p->first_part + p->nr_parts; k++) {
		const struct reading *start = &trace->start[k], *end = &trace->end[k];

		if (end->state == READING_NONE)
			continue;
		if (nr++ == 0)
			table_set(t, row, i, session_event(s, i)->support.state, start, end);
		else
			table_join(t, row, i, start, end);
	}
	if (nr == 0)
		table_set(t, row, i, session_event(s, i)->support.state, NULL, NULL);
}

/* Without memory the things are left out, and their event has what was added so far. */
static void add_things(struct table *t, const struct session_iteration *it)
{
	const struct session_things *end = it->things_end;
	size_t hint = 0;

	table_drop_things(t);
	for (size_t k = 0; k < end->nr_readings; k++) {
		const struct reading *r = &end->readings[k];
		const struct session_thing *thing = &end->things[end->thing_of[k]];

		if (table_add_thing(
			t, r->event, r->instance, session_thing_name(end, thing),
			session_things_find(it->things_start, r->event, r->instance, &hint), r))
			return;
	}
}

void live_iteration(struct table *t, const struct session *s, const struct session_iteration *it)
{
	t->iteration = it->iteration;
	t->is_cut = it->is_cut;
	table_set_time(t, it->start_ns, it->end_ns, &it->clocks);
	for (size_t row = 0; row < t->nr_rows; row++) {
		t->row_cpu[row] = it->traces[row].cpu;
		for (size_t i = 0; i < t->nr_events; i++)
			set_cell(t, row, i, s, &it->traces[row]);
		counts_tally_samples(t, row, it->traces[row].sampling);
	}
	add_things(t, it);
	table_total(t);
}
