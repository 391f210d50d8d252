/*
 * Misc events of a session.
 */
#include "session/misc.h"

#include "base/mem.h"

#include <errno.h>
#include <stdio.h>

static void add(struct misc *m, size_t place, struct session_event *state, uint32_t nr_cpus)
{
	const struct plan_event *p = &m->plan->events[place];
	const struct spec_choice *choice = &p->asked->choice;

	if (p->set != PLAN_NO_SET)
		return;
	state->support = p->support;
	state->perf_group = UINT32_MAX;
	state->nr_wanted = nr_cpus;
	if (p->event.row->missing)
		return;
	m->places[m->nr] = place;
	m->choices[m->nr] = (struct things_choice){
	    .words = choice->words,
	    .nr = choice->nr_words,
	    .tree = plan_is_of_processes(m->plan, p) ? &m->tree : NULL,
	    .every_ns = p->asked->every_ns,
	};
	m->events[m->nr++] = p->event;
}

/* A collector's own reason is more exact than an errno. */
static void explain(const struct misc *m, size_t i, int error, struct event_support *out)
{
	const struct err *why = collect_why(m->collect, i);

	event_support_explain(m->plan->host, &m->events[i], error, out);
	if (!why)
		return;
	snprintf(out->reason, sizeof(out->reason), "%.*s", (int)sizeof(out->reason) - 1, why->msg);
	snprintf(out->hint, sizeof(out->hint), "%.*s", (int)sizeof(out->hint) - 1, why->hint);
}

/* Words that can select nothing are an error in the spec, not a property of the machine. */
static int refuse_choice(const struct misc *m, size_t i, struct err *e)
{
	const struct spec_pos *pos = &m->plan->events[m->places[i]].asked->choice.pos;
	const struct err *why = collect_why(m->collect, i);

	if (!why || why->code != -EINVAL || !pos->line)
		return 0;
	err_set_at(e, -EINVAL, m->plan->spec->source, pos->line, pos->column, "%s", why->msg);
	if (why->hint[0])
		err_hint(e, "%s", why->hint);
	return -EINVAL;
}

int misc_open(struct misc *m, const struct plan *plan, struct session_event *states,
	      uint32_t nr_cpus, struct err *e)
{
	size_t nr = plan->nr_events;
	struct err why = {0};
	int *errors = mem_calloc(nr, sizeof(*errors)), rc;

	*m = (struct misc){
	    .plan = plan,
	    .states = states,
	    .tree = {&plan->target.ids, &plan->target.nr_ids, !plan->target.is_process_only,
		     plan->target.is_cgroup},
	};
	m->events = mem_calloc(nr, sizeof(*m->events));
	m->choices = mem_calloc(nr, sizeof(*m->choices));
	m->places = mem_calloc(nr, sizeof(*m->places));
	if (!errors || !m->events || !m->choices || !m->places) {
		mem_free(errors);
		return -ENOMEM;
	}
	for (size_t place = 0; place < nr; place++)
		add(m, place, &states[place], nr_cpus);
	rc = collect_open(&plan->host->root, m->events, m->choices, m->nr, &m->collect, errors);
	for (size_t i = 0; i < m->nr && rc == 0; i++) {
		struct session_event *state = &states[m->places[i]];

		state->support = (struct event_support){.state = READING_OK};
		state->nr_cpus = errors[i] ? 0 : nr_cpus;
		if (errors[i])
			explain(m, i, -errors[i], &state->support);
		rc = refuse_choice(m, i, e);
	}
	if (rc == 0) { /* else files are read, and only what exists at readings is seen */
		(void)collect_use_kernel(m->collect, &why);
		(void)collect_follow(m->collect, &why);
	}
	mem_free(errors);
	return rc;
}

void misc_close(struct misc *m)
{
	collect_close(m->collect);
	mem_free(m->events);
	mem_free(m->choices);
	mem_free(m->places);
	*m = (struct misc){0};
}

static struct reading *reading_of(const struct misc *m, size_t i, struct reading *out)
{
	return &out[m->plan->events[m->places[i]].first_part];
}

const char *misc_way(const struct misc *m, size_t place)
{
	size_t i = 0;

	while (i < m->nr && m->places[i] != place)
		i++;
	return i < m->nr ? collect_way(m->collect, i) : NULL;
}

uint64_t misc_samples_every_ns(const struct misc *m, size_t place)
{
	size_t i = 0;
	uint32_t set;

	while (i < m->nr && m->places[i] != place)
		i++;
	set = i < m->nr ? collect_set(m->collect, i) : UINT32_MAX;
	return set != UINT32_MAX && collect_has_samples(m->collect, set)
		   ? collect_every_ns(m->collect, set)
		   : 0;
}

bool misc_get(const struct misc *m, uint32_t trace, uint32_t cpu, struct reading *out)
{
	bool is_online = true;

	for (size_t i = 0; i < m->nr; i++) {
		const struct session_event *state = &m->states[m->places[i]];
		struct reading *r = reading_of(m, i, out);

		if (!collect_belongs(&m->events[i], trace))
			continue;
		if (state->nr_cpus == 0)
			r->state = state->support.state;
		else
			collect_get(m->collect, i, cpu, r);
		is_online &= r->state != READING_NONE || collect_is_many(&m->events[i]);
	}
	return is_online;
}

void misc_drop_cpu(const struct misc *m, struct reading *out)
{
	for (size_t i = 0; i < m->nr; i++) {
		struct reading *r = reading_of(m, i, out);

		if (m->events[i].row->scope == EVENT_SCOPE_CPU && r->state == READING_OK)
			r->state = READING_NONE;
	}
}
