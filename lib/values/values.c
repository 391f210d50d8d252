#include "values/values.h"

#include "base/err.h"
#include "base/mem.h"
#include "collect/collect.h"
#include "plan/plan.h"

#include <errno.h>
#include <stdio.h>

struct values {
	struct source_use use;
	struct event *events;          /* owned, like all below; those it reads, as in the plan */
	struct things_choice *choices; /* the things selected per event */
	struct things_tree tree;       /* the target's processes */
	size_t *places;                /* each event's index in the plan */
	size_t *of_place;              /* and back */
	int *errors;                   /* -errno of each, or 0 */
	bool *is_wanted;               /* each, in this reading */
	size_t nr;
	struct collect *collect;
};

static bool is_read(const struct plan *plan, const struct plan_event *p)
{
	(void)plan;
	return !event_is_perf(&p->event);
}

static void add(struct values *v, size_t place)
{
	const struct plan *plan = v->use.plan;
	const struct plan_event *p = &plan->events[place];
	const struct spec_choice *choice = &p->asked->choice;

	if (p->source != &values_source || p->event.row->missing)
		return;
	v->places[v->nr] = place;
	v->of_place[place] = v->nr;
	v->choices[v->nr] = (struct things_choice){
	    .words = choice->words,
	    .nr = choice->nr_words,
	    .tree = plan_is_of_processes(plan, p) ? &v->tree : NULL,
	    .every_ns = p->asked->every_ns,
	};
	v->events[v->nr++] = p->event;
}

/* Words that can select nothing are an error in the spec, not a property of the machine. */
static int refuse_choice(const struct values *v, size_t i, struct err *e)
{
	const struct plan *plan = v->use.plan;
	const struct spec_pos *pos = &plan->events[v->places[i]].asked->choice.pos;
	const struct err *why = collect_why(v->collect, i);

	if (!why || why->code != -EINVAL || !pos->line)
		return 0;
	err_set_at(e, -EINVAL, plan->spec->source, pos->line, pos->column, "%s", why->msg);
	if (why->hint[0])
		err_hint(e, "%s", why->hint);
	return -EINVAL;
}

static void close_files(struct source_use *u)
{
	struct values *v = (struct values *)u;

	collect_close(v->collect);
	mem_free(v->events);
	mem_free(v->choices);
	mem_free(v->places);
	mem_free(v->of_place);
	mem_free(v->errors);
	mem_free(v->is_wanted);
	source_use_clear(u);
}

static int open_collectors(struct values *v, struct err *e)
{
	struct err ignored = {0};
	int rc = collect_open(&v->use.plan->host->root, v->events, v->choices, v->nr, &v->collect,
			      v->errors);

	for (size_t i = 0; i < v->nr && rc == 0; i++)
		rc = refuse_choice(v, i, e);
	if (rc)
		return rc;
	/* else files are read, and only what exists at readings is seen */
	(void)collect_use_kernel(v->collect, &ignored);
	(void)collect_follow(v->collect, &ignored);
	return 0;
}

static int open_files(struct source_use *u, struct err *e)
{
	struct values *v = (struct values *)u;
	const struct plan_target *t = &u->plan->target;
	const size_t nr = u->plan->nr_events;
	int rc = -ENOMEM;

	v->tree = (struct things_tree){&t->ids, &t->nr_ids, !t->is_process_only, t->is_cgroup};
	v->events = mem_calloc(nr, sizeof(*v->events));
	v->choices = mem_calloc(nr, sizeof(*v->choices));
	v->places = mem_calloc(nr, sizeof(*v->places));
	v->of_place = mem_calloc(nr, sizeof(*v->of_place));
	v->errors = mem_calloc(nr, sizeof(*v->errors));
	v->is_wanted = mem_calloc(nr, sizeof(*v->is_wanted));
	if (v->events && v->choices && v->places && v->of_place && v->errors && v->is_wanted) {
		for (size_t place = 0; place < nr; place++)
			add(v, place);
		rc = open_collectors(v, e);
	}
	if (rc)
		close_files(u);
	return rc;
}

static void next_iteration(struct source_use *u)
{
	collect_next(((struct values *)u)->collect);
}

/* --- values of the plan's events */

static const struct collect *collect_of(const struct source_use *u)
{
	return ((const struct values *)u)->collect;
}

static size_t index_of(const struct source_use *u, size_t event)
{
	return ((const struct values *)u)->of_place[event];
}

/* A collector's own reason is more exact than an errno. */
static int check_opened(const struct source_use *u, size_t event, struct event_support *out)
{
	const struct values *v = (const struct values *)u;
	const size_t i = index_of(u, event);
	const struct err *why = collect_why(v->collect, i);

	*out = (struct event_support){.state = READING_OK};
	if (!v->errors[i])
		return 0;
	event_support_explain(u->plan->host, &v->events[i], -v->errors[i], out);
	if (why) {
		snprintf(out->reason, sizeof(out->reason), "%.*s", (int)sizeof(out->reason) - 1,
			 why->msg);
		snprintf(out->hint, sizeof(out->hint), "%.*s", (int)sizeof(out->hint) - 1,
			 why->hint);
	}
	return v->errors[i];
}

static void read_files(struct source_use *u, const bool *is_wanted)
{
	struct values *v = (struct values *)u;

	for (size_t i = 0; is_wanted && i < v->nr; i++)
		v->is_wanted[i] = is_wanted[v->places[i]];
	if (is_wanted)
		collect_read_some(v->collect, v->is_wanted);
	else
		collect_read(v->collect);
}

static const char *next_note(struct source_use *u)
{
	return collect_note(((struct values *)u)->collect);
}

static void settle(const struct source_use *u)
{
	collect_settle(collect_of(u));
}

static void get(const struct source_use *u, size_t event, uint32_t cpu, struct reading *out)
{
	collect_get(collect_of(u), index_of(u, event), cpu, out);
}

static const char *way(const struct source_use *u, size_t event)
{
	return collect_way(collect_of(u), index_of(u, event));
}

static uint32_t set_of(const struct source_use *u, size_t event)
{
	return collect_set(collect_of(u), index_of(u, event));
}

static uint64_t every_ns(const struct source_use *u, size_t event)
{
	const struct collect *c = collect_of(u);
	const uint32_t set = set_of(u, event);

	return set != UINT32_MAX && collect_has_samples(c, set) ? collect_every_ns(c, set) : 0;
}

static bool get_of_thing(const struct source_use *u, size_t event, const struct things_one *thing,
			 struct reading *out)
{
	return collect_get_of_thing(collect_of(u), index_of(u, event), thing, out);
}

static bool get_of_sample(const struct source_use *u, size_t event,
			  const struct things_sample *sample, struct reading *out)
{
	return collect_get_of_sample(collect_of(u), index_of(u, event), sample, out);
}

/* --- their sets of things */

static uint32_t nr_sets(const struct source_use *u)
{
	return collect_nr_sets(collect_of(u));
}

static size_t nr_things(const struct source_use *u, uint32_t set)
{
	return collect_nr_things(collect_of(u), set);
}

static void get_thing(const struct source_use *u, uint32_t set, size_t k, struct things_one *out)
{
	collect_get_thing(collect_of(u), set, k, out);
}

static void flush(struct source_use *u)
{
	collect_flush(((struct values *)u)->collect);
}

static bool next_sample(struct source_use *u, uint32_t set, uint64_t until_ns,
			struct things_sample *out)
{
	struct collect *c = ((struct values *)u)->collect;

	return collect_has_samples(c, set) && collect_sample(c, set, until_ns, out);
}

static bool next_clock(struct source_use *u, uint32_t set, uint64_t until_ns,
		       struct things_clock *out)
{
	struct collect *c = ((struct values *)u)->collect;

	return collect_has_samples(c, set) && collect_clock(c, set, until_ns, out);
}

static const struct source_values functions = {
    .check = check_opened,
    .read = read_files,
    .note = next_note,
    .settle = settle,
    .get = get,
    .way = way,
    .set = set_of,
    .every_ns = every_ns,
    .get_of_thing = get_of_thing,
    .get_of_sample = get_of_sample,
    .nr_sets = nr_sets,
    .nr_things = nr_things,
    .get_thing = get_thing,
    .flush = flush,
    .sample = next_sample,
    .clock = next_clock,
};

const struct source values_source = {
    .name = "values",
    .groups = {EVENT_GROUP_MISC, EVENT_GROUP_GPU},
    .is_own = is_read,
    .bytes = sizeof(struct values),
    .stays_open = true,
    .open = open_files,
    .close = close_files,
    .done = next_iteration,
    .values = &functions,
};
