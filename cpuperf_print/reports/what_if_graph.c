/*
 * From samples, waits and records of tasks to the events of causal/graph.h.
 */
#include "reports/what_if_graph.h"

#include "base/array.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "profile/records.h"
#include "profile/region_calls.h"
#include "registry.h"
#include "report/functions.h"
#include "report/stacks.h"
#include "report/states.h"
#include "report/waker.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { MAX_NAME_BYTES = 64 << 20 };

/* Where a thread ran: the mark of events on a CPU. */
struct place {
	uint32_t stack, region; /* key */
};

struct what_if {
	struct job *j;
	const struct input *input;    /* whose names are loaded; NULL: none */
	struct report_stacks *stacks; /* owned */
	struct report_stats stats;
	struct causal_graph *graph; /* owned */
	struct trace_target target;
	uint64_t ran_ns, nr_ran;
	bool is_full;                       /* it has more samples than CAUSAL_MAX_EVENTS */
	struct what_if_function *functions; /* owned; by number of the function; those on CPUs */
	size_t nr_functions, functions_room;
	struct dict places;         /* struct place */
	struct dict regions;        /* struct what_if_region, by name */
	uint32_t *region_of;        /* owned; its number there, by that of the path */
	double *cut, *cut_of_stack; /* owned; by place, and by stack */
	bool *within;               /* owned; by number of the path */
};

/* ---- what happened */

/* What a thread waited for that another one woke, by the functions in both stacks. */
static enum causal_kind kind_of_wake(const struct what_if *r, uint32_t stack)
{
	static const char *const barriers[] = {"pthread_barrier_wait",   "gomp_barrier_wait",
					       "gomp_team_barrier_wait", "__kmp_barrier",
					       "__kmpc_barrier",         "MPI_Barrier"};
	static const char *const joins[] = {"pthread_join", "__pthread_clockjoin",
					    "__pthread_timedjoin", "do_wait"};
	const struct report_stack_node *n;
	unsigned sides = 0, side = 1; /* the waker's frames come first */

	for (; stack != REPORT_NO_STACK; stack = n->parent) {
		const char *name;

		n = report_stacks_at(r->stacks, stack);
		name = n->frame.function->name;
		if (report_waker_frames(&n->frame, 1))
			side = 2;
		else if (side == 2 && str_begins_with_any(name, joins, ARRAY_NR(joins)))
			return CAUSAL_JOINED;
		else if (str_begins_with_any(name, barriers, ARRAY_NR(barriers)))
			sides |= side;
	}
	return sides == 3 ? CAUSAL_MET : CAUSAL_WOKEN;
}

static enum causal_kind kind_of(const struct what_if *r, const struct report_sample *s,
				enum report_state state)
{
	if (state == REPORT_ON_CPU)
		return CAUSAL_RAN;
	if (state == REPORT_IN_QUEUE)
		return CAUSAL_QUEUED;
	if (!s->has_waker)
		return CAUSAL_UNKNOWN;
	if (s->waker == TRACE_UNKNOWN)
		return CAUSAL_LATER;
	return kind_of_wake(r, s->stack);
}

static struct what_if_function *function_at(struct what_if *r, uint32_t stack)
{
	const struct report_function *f = report_stacks_at(r->stacks, stack)->frame.function;
	struct what_if_function *list =
	    mem_grow(r->functions, f->number, &r->functions_room, sizeof(*list));

	if (!list)
		return NULL;
	r->functions = list;
	for (; r->nr_functions <= f->number; r->nr_functions++)
		list[r->nr_functions] = (struct what_if_function){0};
	list[f->number].is = f;
	return &list[f->number];
}

/* Where the program waits: the innermost function that is not the kernel's. */
static uint32_t find_waiting(const struct what_if *r, uint32_t stack)
{
	for (uint32_t i = stack; i != REPORT_NO_STACK; i = report_stacks_at(r->stacks, i)->parent) {
		const struct report_function *f = report_stacks_at(r->stacks, i)->frame.function;

		if (!f->is_kernel && f->is_known)
			return i;
	}
	return stack;
}

/* Counts for each region that is open there once, however often it is. */
static void count_in_regions(struct what_if *r, uint32_t path, uint64_t ns)
{
	for (uint32_t i = path; i != PROFILE_NO_REGION;
	     i = profile_region(r->input->processes, i)->parent) {
		struct what_if_region *region = dict_at(&r->regions, r->region_of[i]);

		region->ns += region->last == path ? 0 : ns;
		region->last = path;
	}
	for (uint32_t i = path; i != PROFILE_NO_REGION;
	     i = profile_region(r->input->processes, i)->parent)
		((struct what_if_region *)dict_at(&r->regions, r->region_of[i]))->last =
		    PROFILE_NO_REGION;
}

static int add_event(struct what_if *r, const struct causal_event *ev)
{
	const int rc = causal_add(r->graph, ev);

	r->is_full = r->is_full || rc == -EFBIG;
	return rc;
}

/* What ran on a CPU: its mark. DICT_NONE: no memory. */
static uint32_t place_of(struct what_if *r, const struct report_sample *s)
{
	const struct place place = {.stack = s->stack, .region = s->region};

	count_in_regions(r, place.region, s->weight);
	return dict_add(&r->places, &place);
}

static int add_sample(struct what_if *r, const struct report_sample *s, enum report_state state)
{
	struct causal_event ev = {.time_ns = s->time_ns,
				  .ns = s->weight,
				  .thread = s->key.tid,
				  .other = s->waker,
				  .kind = kind_of(r, s, state)};
	struct what_if_function *f;

	if (ev.kind == CAUSAL_UNKNOWN) {
		f = function_at(r, find_waiting(r, s->stack));
		if (!f)
			return -ENOMEM;
		f->unknown_ns += s->weight;
	} else if (ev.kind == CAUSAL_RAN) {
		f = function_at(r, s->stack);
		ev.mark = place_of(r, s);
		if (!f || ev.mark == DICT_NONE)
			return -ENOMEM;
		f->ns += s->weight;
		r->ran_ns += s->weight;
		r->nr_ran += s->samples;
	}
	return add_event(r, &ev);
}

static int add_samples(void *arg, const struct report_sample *samples, size_t nr)
{
	struct what_if *r = arg;
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++) {
		const enum report_state state = report_states_of(
		    job_input(r->j)->facts, &r->j->selection->filter, samples[i].key.event);

		if (state != REPORT_NO_STATE)
			rc = add_sample(r, &samples[i], state);
	}
	return rc;
}

static int add_record(struct what_if *r, const struct profile_item *item)
{
	const struct trace_record *rec = &item->record;
	const bool is_end = rec->kind == PERF_RECORD_EXIT;

	if (item->kind != PROFILE_RECORD || (rec->kind != PERF_RECORD_FORK && !is_end) ||
	    item->cpu == TRACE_UNKNOWN) /* surveyed: it began before */
		return 0;
	return add_event(r, &(struct causal_event){.time_ns = item->time_ns,
						   .thread = rec->tid,
						   .other = rec->ptid,
						   .kind = is_end ? CAUSAL_ENDED : CAUSAL_MADE});
}

/* Beginnings and ends of threads and processes, from the records of the kernel. */
static int read_records(struct what_if *r)
{
	struct profile_records *records;
	struct profile_item item;
	int rc = profile_session_common(job_input(r->j)->session, false, &records);

	if (rc != 1)
		return rc;
	while ((rc = profile_records_next(records, &item)) == 1) {
		rc = add_record(r, &item);
		if (rc)
			break;
	}
	profile_records_close(records);
	return rc;
}

static int keep_target(void *arg, const struct profile_trace *t)
{
	struct what_if *r = arg;

	if (t->target)
		r->target = *t->target;
	return 0;
}

/* ---- what if */

const struct trace_target *what_if_target(const struct what_if *r)
{
	return &r->target;
}

double what_if_run_ns(const struct what_if *r)
{
	return (double)(r->target.end_ns - r->target.start_ns);
}

const struct what_if_function *what_if_functions(const struct what_if *r, size_t *nr)
{
	*nr = r->nr_functions;
	return r->functions;
}

const struct what_if_region *what_if_regions(const struct what_if *r, size_t *nr)
{
	*nr = r->regions.nr;
	return r->regions.items;
}

const struct what_if_region *what_if_find_region(const struct what_if *r, const char *name)
{
	const struct what_if_region *all = r->regions.items;

	return ARRAY_FIND(it, all, r->regions.nr, strcmp(it->name, name) == 0);
}

const struct profile_processes *what_if_processes(const struct what_if *r)
{
	return r->input->processes;
}

double what_if_saved(struct what_if *r, const struct causal_cut *cut)
{
	return causal_saved(r->graph, cut, r->target.pid);
}

static const struct place *place_at(const struct what_if *r, uint32_t i)
{
	return dict_at(&r->places, i);
}

static double saved_by_places(struct what_if *r)
{
	return what_if_saved(r, &(struct causal_cut){.ran = r->cut, .nr = r->places.nr});
}

double what_if_saved_by(struct what_if *r, what_if_match_fn *is_meant, const void *arg,
			double share, bool has_callees)
{
	const size_t nr = report_stacks_nr(r->stacks);
	double *cut = r->cut_of_stack;

	for (uint32_t i = 1; i < nr; i++) {
		const struct report_stack_node *n = report_stacks_at(r->stacks, i);

		cut[i] = is_meant(arg, n->frame.function) ? share
			 : has_callees                    ? cut[n->parent]
							  : 0;
	}
	for (uint32_t i = 0; i < r->places.nr; i++)
		r->cut[i] = cut[place_at(r, i)->stack];
	return saved_by_places(r);
}

bool what_if_has(const struct what_if *r, what_if_match_fn *is_meant, const void *arg)
{
	const size_t nr = report_stacks_nr(r->stacks);

	for (uint32_t i = 1; i < nr; i++)
		if (is_meant(arg, report_stacks_at(r->stacks, i)->frame.function))
			return true;
	return false;
}

double what_if_saved_within(struct what_if *r, const bool *within, double share)
{
	for (uint32_t i = 0; i < r->places.nr; i++)
		r->cut[i] = within[place_at(r, i)->region] ? share : 0;
	return saved_by_places(r);
}

double what_if_saved_in(struct what_if *r, const struct what_if_region *region, double share)
{
	const struct profile_processes *p = r->input->processes;
	const struct what_if_region *all = r->regions.items;
	const size_t nr = profile_nr_regions(p);

	for (uint32_t i = 1; i < nr; i++)
		r->within[i] =
		    &all[r->region_of[i]] == region || r->within[profile_region(p, i)->parent];
	return what_if_saved_within(r, r->within, share);
}

struct interval what_if_share(const struct what_if *r, double ns, double share)
{
	const double step_ns = (double)r->ran_ns / (double)(r->nr_ran ?: 1);
	const double all = what_if_run_ns(r) / step_ns, part = fmin(ns / share / step_ns, all);
	struct interval of = interval_count((uint64_t)(fmax(part, 0) + 0.5), (uint64_t)(all + 0.5));

	of.share *= share;
	of.low *= share;
	of.high *= share;
	return of;
}

/* ---- */

static int check(const struct what_if *r, struct err *e)
{
	const struct profile_facts *f = job_input(r->j)->facts;

	if (reports_is_part(&r->j->selection->filter) || r->j->selection->filter.iterations.nr) {
		err_set(e, -EINVAL, "--report=%s needs all samples", r->j->row->name);
		err_hint(e, "leave out what selects some: --pid, --comm, --cpu, --from …");
		return -EINVAL;
	}

	if (!ARRAY_ANY(ev, f->events, f->nr_events, report_has_waker(ev))) {
		err_set(e, -ENODATA, "--report=%s: the session does not have who ended waits",
			r->j->row->name);
		err_hint(e, "as root: cpuperf --spec-file=wall -- PROGRAM");
		return -ENODATA;
	}
	if (!r->target.pid || r->target.end_ns <= r->target.start_ns) {
		err_set(e, -ENODATA, "--report=%s: no command ended in this session",
			r->j->row->name);
		err_hint(e, "as root: cpuperf --spec-file=wall -- PROGRAM");
		return -ENODATA;
	}
	return 0;
}

static int count_closed(void *arg, const struct profile_region_event *ev)
{
	struct what_if *r = arg;
	struct what_if_region *region = dict_at(&r->regions, r->region_of[ev->region]);

	if (ev->kind == PROFILE_REGION_END && region)
		region->nr_closed += ev->is_closed;
	return 0;
}

/* Their names, by which they are one. */
static int find_regions(struct what_if *r)
{
	static const struct profile_filter all;
	const struct profile_processes *p = r->input->processes;
	const size_t nr = profile_nr_regions(p);

	r->within = mem_calloc(nr, sizeof(*r->within));
	r->region_of = mem_calloc(nr, sizeof(*r->region_of));
	if (!r->within || !r->region_of)
		return -ENOMEM;
	r->region_of[PROFILE_NO_REGION] = DICT_NONE;
	for (uint32_t i = 1; i < nr; i++) {
		r->region_of[i] = dict_add(&r->regions, profile_region(p, i)->name);
		if (r->region_of[i] == DICT_NONE)
			return -ENOMEM;
	}
	return profile_region_calls(p, &all, r->input->start_ns, count_closed, r);
}

/* The names stay until the end: those of regions are of the input. */
static int load(struct what_if *r, struct err *e)
{
	struct input *o = &r->j->inputs->item[r->j->first];
	int rc = inputs_begin_names(r->j->inputs, o, e);

	if (rc)
		return rc;
	r->input = o;
	return find_regions(r) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

static int make_cuts(struct what_if *r)
{
	r->cut = mem_calloc(r->places.nr + 1, sizeof(*r->cut));
	r->cut_of_stack = mem_calloc(report_stacks_nr(r->stacks), sizeof(*r->cut_of_stack));
	return r->cut && r->cut_of_stack ? 0 : -ENOMEM;
}

/* Who read the samples has said that they could not be read. */
static int refuse_full(const struct what_if *r, struct err *e)
{
	err_clear(e);
	return err_set(e, -EFBIG, "--report=%s: the recorded run has more than %d samples",
		       r->j->row->name, CAUSAL_MAX_EVENTS);
}

static int read_all(struct what_if *r, struct err *e)
{
	const struct report_sink sink = {.parts = REPORT_BY_PID | REPORT_BY_TID | REPORT_BY_STACK |
						  REPORT_BY_WAKER,
					 .samples = add_samples,
					 .stacks = r->stacks,
					 .arg = r};
	int rc = reports_each_trace(r->j, job_input(r->j), keep_target, r) ?:
		 check(r, e) ?:
		 load(r, e) ?:
		 samples_read(r->j, r->j->first, 1, &sink, &r->stats, e);

	if (r->is_full)
		return refuse_full(r, e);
	if (rc == 0 && !r->nr_ran) {
		rc = err_set(e, -ENODATA, "--report=%s: the session has no sample on a CPU",
			     r->j->row->name);
		err_hint(e,
			 "let the command run for longer; or what is permitted: cpuperf --doctor");
	}
	if (rc)
		return rc;
	rc = read_records(r) ?: causal_order(r->graph) ?: make_cuts(r);
	return r->is_full ? refuse_full(r, e)
	       : rc       ? err_set(e, rc, "--report=%s: %s", r->j->row->name, strerror(-rc))
			  : 0;
}

int what_if_new(struct job *j, struct what_if **out, struct err *e)
{
	struct what_if *r = mem_zalloc(sizeof(*r));
	int rc;

	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	r->j = j;
	dict_init(&r->places, sizeof(struct place), sizeof(struct place), CAUSAL_MAX_EVENTS);
	dict_init_texts(&r->regions, sizeof(struct what_if_region), PROFILE_MAX_REGIONS,
			MAX_NAME_BYTES);
	r->stacks = report_stacks_new();
	r->graph = causal_new();
	rc = r->stacks && r->graph ? read_all(r, e) : err_set(e, -ENOMEM, "out of memory");
	if (rc)
		what_if_free(r);
	else
		*out = r;
	return rc;
}

void what_if_free(struct what_if *r)
{
	if (!r)
		return;
	report_stacks_free(r->stacks);
	causal_free(r->graph);
	report_stats_fini(&r->stats);
	mem_free(r->functions);
	if (r->input)
		inputs_end_names(r->j->inputs, &r->j->inputs->item[r->j->first]);
	dict_fini(&r->places);
	dict_fini(&r->regions);
	mem_free(r->region_of);
	mem_free(r->within);
	mem_free(r->cut);
	mem_free(r->cut_of_stack);
	mem_free(r);
}
