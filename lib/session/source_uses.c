#include "session/source_uses.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "calls/calls.h"
#include "heap/heap.h"
#include "kernel/latency.h"
#include "kernel/probes.h"
#include "kernel/waits.h"
#include "marks/marks.h"
#include "plan/plan.h"
#include "trace/trace.h"
#include "values/values.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct source counters = {.name = "counters"};

/* Calls that the compiler has prepared come before what measures any call. */
const struct source *const source_table[] = {
    &counters,
    &kernel_waits_source,
    &kernel_latency_source,
    &kernel_probes_source,
    &calls_agent_source,
    &calls_source,
    &heap_source,
    &marks_source,
    &values_source,
    NULL,
};

static struct source_use *find(const struct source_uses *s, const struct source *source)
{
	for (size_t i = 0; i < s->nr; i++)
		if (s->use[i]->source == source)
			return s->use[i];
	return NULL;
}

static struct source_use *add(struct source_uses *s, const struct plan *plan,
			      const struct source *source)
{
	struct source_use **place = MEM_ADD(s->use, s->nr, s->room);

	if (!place)
		return NULL;
	*place = mem_zalloc(source->bytes);
	if (!*place)
		s->nr--;
	else
		**place = (struct source_use){.source = source, .plan = plan, .core = &s->core};
	return *place;
}

static int add_wanted(struct source_uses *s, const struct plan *plan)
{
	for (const struct source *const *source = source_table; *source; source++)
		if ((*source)->is_wanted && (*source)->is_wanted(plan) && !add(s, plan, *source))
			return -ENOMEM;
	return 0;
}

int source_uses_init(struct source_uses *s, const struct plan *plan)
{
	s->of_event = mem_calloc(plan->nr_events, sizeof(struct source_use *));
	if (!s->of_event)
		return -ENOMEM;
	s->nr_events = plan->nr_events;
	for (size_t i = 0; i < plan->nr_events; i++) {
		const struct plan_event *p = &plan->events[i];

		if (p->event.row->missing || !p->source->bytes)
			continue;
		s->of_event[i] = find(s, p->source) ?: add(s, plan, p->source);
		if (!s->of_event[i])
			return -ENOMEM;
	}
	return add_wanted(s, plan);
}

static void close_use(struct source_use *u)
{
	if (u->is_open)
		u->source->close(u);
	u->is_open = false;
}

void source_uses_release(struct source_uses *s)
{
	for (size_t i = 0; i < s->nr; i++)
		close_use(s->use[i]);
}

void source_uses_fini(struct source_uses *s)
{
	source_uses_release(s);
	for (size_t i = 0; i < s->nr; i++)
		mem_free(s->use[i]);
	mem_free(s->use);
	mem_free(s->of_event);
	*s = (struct source_uses){0};
}

static int open_use(struct source_use *u, struct err *e)
{
	const bool is_needed = u->source->is_wanted || u->source->values;
	struct err why = {0};
	int rc;

	if (u->is_open || u->error)
		return 0;
	rc = u->source->open(u, is_needed ? e : &why);
	u->is_open = rc == 0;
	if (rc == 0 || rc == -ENOMEM || is_needed)
		return rc;
	u->error = rc;
	source_explain(rc, &why, &u->support);
	return 0;
}

int source_uses_open(struct source_uses *s, struct err *e)
{
	return ARRAY_RUN(i, s->nr, open_use(s->use[i], e));
}

void source_uses_close(struct source_uses *s)
{
	for (size_t i = 0; i < s->nr; i++)
		if (!s->use[i]->source->stays_open)
			close_use(s->use[i]);
}

/* Each open one that does this. */
#define EACH_USE(u, s, what)                                                                       \
	for (size_t i_ = 0; i_ < (s)->nr; i_++)                                                    \
		for (struct source_use *u = (s)->use[i_]; u && u->is_open && u->source->what;      \
		     u = NULL)

struct selected_program source_uses_selected(const struct source_uses *s)
{
	EACH_USE(u, s, selected)
		return u->source->selected(u);
	return (struct selected_program){-1, -1, false};
}

int source_uses_begin(const struct source_uses *s)
{
	int rc = 0;

	EACH_USE(u, s, begin)
		rc = rc ?: u->source->begin(u);
	return rc;
}

int source_uses_start(const struct source_uses *s, struct err *e)
{
	int rc = 0;

	EACH_USE(u, s, start)
		rc = rc ?: u->source->start(u, e);
	return rc;
}

void source_uses_look_at(const struct source_uses *s, uint32_t pid)
{
	EACH_USE(u, s, look_at)
		u->source->look_at(u, pid);
}

void source_uses_pass_switch(const struct source_uses *s, uint64_t time_ns, bool is_on)
{
	EACH_USE(u, s, pass_switch)
		u->source->pass_switch(u, time_ns, is_on);
}

bool source_uses_regions(const struct source_uses *s, uint64_t now_ns,
			 struct region_times_list *out)
{
	EACH_USE(u, s, regions)
		return u->source->regions(u, now_ns, out);
	return false;
}

size_t source_uses_end(const struct source_uses *s, const char **notes, size_t room)
{
	size_t nr = 0;

	EACH_USE(u, s, end)
		nr += u->source->end(u, notes + nr, room - nr);
	return nr;
}

void source_uses_leave(const struct source_uses *s)
{
	EACH_USE(u, s, leave)
		u->source->leave(u);
}

bool source_uses_have_switches(const struct source_uses *s)
{
	return ARRAY_ANY(u, s->use, s->nr,
			 (*u)->error && (*u)->source->has_switches &&
			     (*u)->source->has_switches((*u)->plan));
}

void source_uses_explain(const struct source_uses *s, size_t event, struct event_support *out)
{
	const struct source_use *u = s->of_event[event];

	if (!u || !u->error)
		return;
	*out = u->support;
	if (u->source->explain)
		u->source->explain(u->plan, &u->plan->events[event], out);
}

void source_uses_enable(const struct source_uses *s, size_t event, bool is_enabled)
{
	struct source_use *u = s->of_event[event];

	if (u && u->is_open && u->source->enable)
		u->source->enable(u, event, is_enabled);
}

void source_uses_read(const struct source_uses *s, uint64_t now_ns)
{
	EACH_USE(u, s, read)
		u->source->read(u, now_ns);
}

void source_uses_done(const struct source_uses *s)
{
	EACH_USE(u, s, done)
		u->source->done(u);
}

void source_uses_look(const struct source_uses *s)
{
	EACH_USE(u, s, look)
		u->source->look(u);
}

void source_uses_histograms(const struct source_uses *s, bool is_look,
			    struct source_histograms *out)
{
	out->nr = 0;
	EACH_USE(u, s, histograms) {
		const struct trace_histogram *from;
		size_t nr = u->source->histograms(u, is_look, &from);

		for (size_t i = 0; i < nr; i++) {
			struct trace_histogram *to = MEM_ADD(out->item, out->nr, out->room);

			if (!to)
				return;
			*to = from[i];
		}
	}
}

void source_uses_functions(const struct source_uses *s, struct source_functions *out)
{
	out->nr = 0;
	EACH_USE(u, s, functions) {
		const struct trace_function *from;
		size_t nr = u->source->functions(u, &from);

		for (size_t i = 0; i < nr; i++) {
			struct trace_function *to = MEM_ADD(out->item, out->nr, out->room);

			if (!to)
				return;
			*to = from[i];
		}
	}
}

size_t source_uses_call_values(const struct source_uses *s, const struct trace_value **out)
{
	EACH_USE(u, s, call_values) {
		size_t nr = u->source->call_values(u, out);

		if (nr)
			return nr;
	}
	return 0;
}

const char *source_uses_socket(const struct source_uses *s, const char *variable)
{
	EACH_USE(u, s, socket)
		if (strcmp(u->source->variable, variable) == 0)
			return u->source->socket(u);
	return NULL;
}

void source_uses_notes(const struct source_uses *s, struct notes *notes)
{
	EACH_USE(u, s, notes)
		u->source->notes(u, notes);
}

/* --- sources of values */

const struct source_use *source_uses_of_values(const struct source_uses *s, size_t event)
{
	const struct source_use *u = s->of_event[event];

	return u && u->is_open && u->source->values ? u : NULL;
}

void source_uses_read_values(const struct source_uses *s, const bool *is_wanted)
{
	EACH_USE(u, s, values)
		u->source->values->read(u, is_wanted);
}

const char *source_uses_note(const struct source_uses *s)
{
	const char *note = NULL;

	EACH_USE(u, s, values && u->source->values->note)
		note = note ?: u->source->values->note(u);
	return note;
}

void source_uses_settle(const struct source_uses *s)
{
	EACH_USE(u, s, values && u->source->values->settle)
		u->source->values->settle(u);
}

void source_uses_flush(const struct source_uses *s)
{
	EACH_USE(u, s, values && u->source->values->flush)
		u->source->values->flush(u);
}

const char *source_uses_way(const struct source_uses *s, size_t event)
{
	const struct source_use *u = source_uses_of_values(s, event);

	return u && u->source->values->way ? u->source->values->way(u, event) : NULL;
}

uint64_t source_uses_every_ns(const struct source_uses *s, size_t event)
{
	const struct source_use *u = source_uses_of_values(s, event);

	return u && u->source->values->every_ns ? u->source->values->every_ns(u, event) : 0;
}

static uint32_t nr_sets(const struct source_use *u)
{
	return u->source->values->nr_sets ? u->source->values->nr_sets(u) : 0;
}

uint32_t source_uses_nr_sets(const struct source_uses *s)
{
	uint32_t nr = 0;

	EACH_USE(u, s, values)
		nr += nr_sets(u);
	return nr;
}

uint32_t source_uses_set(const struct source_uses *s, size_t event)
{
	const struct source_use *of = source_uses_of_values(s, event);
	uint32_t set = of && nr_sets(of) ? of->source->values->set(of, event) : UINT32_MAX;

	if (set == UINT32_MAX)
		return set;
	EACH_USE(u, s, values) {
		if (u == of)
			return set;
		set += nr_sets(u);
	}
	return UINT32_MAX;
}

size_t source_uses_first_of(const struct source_uses *s, uint32_t set)
{
	size_t event = 0;

	while (event < s->nr_events && source_uses_set(s, event) != set)
		event++;
	return event;
}

/* Whose set it is; *set: its number there. */
static struct source_use *use_of_set(const struct source_uses *s, uint32_t *set)
{
	EACH_USE(u, s, values) {
		const uint32_t nr = nr_sets(u);

		if (*set < nr)
			return u;
		*set -= nr;
	}
	return NULL;
}

size_t source_uses_nr_things(const struct source_uses *s, uint32_t set)
{
	const struct source_use *u = use_of_set(s, &set);

	return u ? u->source->values->nr_things(u, set) : 0;
}

void source_uses_get_thing(const struct source_uses *s, uint32_t set, size_t k,
			   struct things_one *out)
{
	const struct source_use *u = use_of_set(s, &set);

	if (u)
		u->source->values->get_thing(u, set, k, out);
}

bool source_uses_sample(const struct source_uses *s, uint32_t set, uint64_t until_ns,
			struct things_sample *out)
{
	struct source_use *u = use_of_set(s, &set);

	return u && u->source->values->sample && u->source->values->sample(u, set, until_ns, out);
}

bool source_uses_clock(const struct source_uses *s, uint32_t set, uint64_t until_ns,
		       struct things_clock *out)
{
	struct source_use *u = use_of_set(s, &set);

	return u && u->source->values->clock && u->source->values->clock(u, set, until_ns, out);
}
