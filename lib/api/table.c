/*
 * From a running session to a table.
 */
#include "api/table.h"

#include "base/mem.h"
#include "collect/collect.h"
#include "counts/formulas.h"
#include "counts/tally.h"
#include "event/model.h"
#include "session/things.h"

#include <errno.h>

/* Some 10,000 rows of a large server, with their boxes, take a tenth of it. */
enum { MAX_ROWS_BYTES = 256 << 20 };

static const struct event_group *const groups[] = {
    &event_arch_group,     &event_fixed_group,      &event_model_group, &collect_misc_group,
    &event_software_group, &event_tracepoint_group, &event_sched_group, &event_latency_group,
    &event_usdt_group,     &event_function_group,   &event_heap_group,  &event_resource_group,
    &collect_gpu_group,
};

void api_catalogue_init(struct api_catalogue *c, const struct host *host, const char *model)
{
	arena_init(&c->arena, MAX_ROWS_BYTES);
	c->catalogue = (struct catalogue){.groups = groups,
					  .nr_groups = sizeof(groups) / sizeof(groups[0]),
					  .host = host,
					  .arena = host ? &c->arena : NULL,
					  .model = event_model_canonical(model)};
}

void api_catalogue_fini(struct api_catalogue *c)
{
	arena_fini(&c->arena);
}

int api_check_model(const struct api_catalogue *c, const struct spec *spec, struct err_list *errs)
{
	char detected[128];
	struct err e = {0};

	if (!event_model_is_foreign(&c->catalogue) ||
	    event_model_check(spec->model_name, NULL) == -ENOENT)
		return 0;
	event_model_describe_host(c->catalogue.host, detected, sizeof(detected));
	err_set_at(&e, -ENOTSUP, spec->source, spec->model_pos.line, spec->model_pos.column,
		   "this is for the CPU model %s, and this CPU is %s", spec->model_name, detected);
	err_hint(&e, "--check-spec checks it for that model; to measure this CPU, omit "
		     "model_name or set it to \"default\"");
	err_list_insert(errs, &e);
	return -ENOTSUP;
}

/* The events as the session's traces describe them; NULL without memory. */
static struct trace_event *describe_events(const struct session *s)
{
	size_t nr = session_plan(s)->nr_events;
	struct trace_event *events = mem_calloc(nr, sizeof(*events));

	for (size_t i = 0; events && i < nr; i++)
		session_describe_event(s, i, &events[i]);
	return events;
}

/* What a reader will make of records has no count and no samples yet. */
static void explain_later(const struct plan *plan, struct table *t)
{
	for (size_t i = 0; i < plan->nr_events; i++) {
		if (!plan_is_by_switches(plan, &plan->events[i]))
			continue;
		t->columns[i].reason =
		    "cpuperf_print finds it in the records of switches, when the "
		    "session has ended";
		t->columns[i].sampling = (struct sampled_event){0};
	}
}

int api_table_new(const struct session *s, struct table **out, struct err *e)
{
	const struct plan *plan = session_plan(s);
	struct trace_event *events = describe_events(s);
	struct profile_facts facts = {
	    .events = events, .nr_events = plan->nr_events, .max_rows = plan_nr_traces(plan)};
	int rc = events ? counts_tally_new(&facts, &plan->spec->metric_set, out, e)
			: err_set(e, -ENOMEM, "out of memory");

	mem_free(events);
	if (rc)
		return rc;
	(*out)->nr_cpus = cpuset_count(&plan->host->online);
	explain_later(plan, *out);
	(*out)->nr_rows = plan_nr_traces(plan);
	return 0;
}

int api_table_metrics(const struct session *s, struct arena *a, struct metric_set *out,
		      struct err *e)
{
	const struct plan *plan = session_plan(s);
	struct trace_event *events = describe_events(s);
	int rc = events ? counts_formulas_join(&plan->spec->metric_set, events, plan->nr_events, a,
					       out, e)
			: err_set(e, -ENOMEM, "out of memory");

	mem_free(events);
	return rc;
}

static enum reading_times times_of(const struct plan *plan, const struct plan_event *p,
				   uint32_t cpu)
{
	if (!plan_is_of_tasks(plan, p))
		return READING_TIMES_OF_CPU;
	if (cpu == PLAN_ANY_CPU)
		return READING_TIMES_OF_ANY_CPU;
	return p->event.group->id == EVENT_GROUP_SOFTWARE ? READING_TIMES_OF_KERNEL
							  : READING_TIMES_OF_TASKS;
}

static void set_cell(struct table *t, size_t row, size_t i, const struct session *s,
		     const struct session_trace *trace)
{
	const struct plan_event *p = &session_plan(s)->events[i];
	const uint32_t cpu = trace->cpu;
	enum reading_times times = times_of(session_plan(s), p, cpu);
	struct table_part parts[TABLE_MAX_PARTS];
	size_t nr = p->nr_parts < TABLE_MAX_PARTS ? p->nr_parts : TABLE_MAX_PARTS;

	for (size_t k = 0; k < nr; k++)
		parts[k] = (struct table_part){&trace->start[p->first_part + k],
					       &trace->end[p->first_part + k], times};
	table_set(t, row, i, session_event(s, i)->support.state, parts, nr);
	/* it has a row in each output, as each event: its number comes later (explain_later) */
	if (cpu == PLAN_ANY_CPU && plan_is_by_switches(session_plan(s), p))
		*table_cell(t, row, i) = (struct cell){.state = CELL_NA};
}

/* One thing of each event that is gone is enough. Readings are event by event. */
static void add_gone(struct table *t, const struct session_things *start,
		     const struct session_things *end)
{
	uint32_t done = UINT32_MAX;
	size_t hint = 0;

	for (size_t k = 0; k < start->nr_readings; k++) {
		const struct reading *r = &start->readings[k];

		if (r->event == done || r->state != READING_OK || r->flags & READING_ENDED ||
		    session_things_find(end, r->event, r->instance, &hint))
			continue;
		table_thing_gone(t, r->event);
		done = r->event;
	}
}

/* Without memory the rest is skipped, and the event has the sum of those before. */
static void add_things(struct table *t, const struct session_iteration *it)
{
	const struct session_things *start = it->things_start, *end = it->things_end;
	size_t hint = 0, nr_stayed = 0;
	int rc = 0;

	table_drop_things(t);
	for (size_t k = 0; k < end->nr_readings && rc == 0; k++) {
		const struct reading *r = &end->readings[k];
		const char *name = session_thing_name(end, &end->things[end->thing_of[k]]);
		const struct reading *first =
		    session_things_find(start, r->event, r->instance, &hint);

		nr_stayed += first != NULL;
		rc = table_add_thing(t, r->event, r->instance, name, first, r);
	}
	if (nr_stayed < start->nr_readings)
		add_gone(t, start, end);
}

void api_table_fill(struct table *t, const struct session *s, const struct session_iteration *it)
{
	t->iteration = it->iteration;
	t->is_cut = it->is_cut;
	t->cause = it->cause;
	t->gap_ns = it->window ? it->window->gap_ns : 0;
	table_set_time(t, it->start_ns, it->end_ns, &it->clocks);
	for (size_t row = 0; row < t->nr_rows; row++) {
		t->row_cpu[row] = it->traces[row].cpu;
		for (size_t i = 0; i < t->nr_events; i++)
			set_cell(t, row, i, s, &it->traces[row]);
		counts_tally_samples(t, row, it->traces[row].sampling);
	}
	add_things(t, it);
	counts_tally_latencies(t, it->histograms, it->nr_histograms);
	if (it->regions)
		t->regions = *it->regions;
	else
		t->regions.nr = t->regions.nr_more = 0;
	table_total(t);
}
