/*
 * Reads the steps of each thread with a stack of its open regions. What is selected is decided when
 * a region begins.
 */
#include "profile/region_calls.h"

#include "base/mem.h"
#include "profile/choice.h"
#include "profile/regions_internal.h"
#include "trace/record.h"

#include <errno.h>

/* What the counters had at a beginning or an end, or what the regions inside counted. */
struct counts {
	uint32_t what[PROFILE_MAX_REGION_COUNTS];
	uint64_t value[PROFILE_MAX_REGION_COUNTS];
	size_t nr;
};

/* An open region. */
struct open {
	uint64_t begin_ns, inner_ns;
	uint64_t earlier_ns; /* when its last part ended; 0: it has none */
	uint32_t path;
	bool is_wanted;
	bool is_shown; /* its begin was passed, and its end was not */
	bool is_cut;   /* a part of it is outside of the span */
	bool has_value;
	int64_t value;
	struct counts counts;                      /* at its beginning */
	uint64_t inner[PROFILE_MAX_REGION_COUNTS]; /* of the regions inside, in their order */
	bool is_inner_partial;                     /* one of them was not counted */
	uint64_t nr_below, nr_inner;               /* that were counted */
	struct profile_task task;
};

struct walk {
	const struct profile_processes *p;
	const struct profile_filter *filter;
	struct profile_choice choice;
	struct profile_lookup *lookup;
	bool *within;               /* owned; NULL: all */
	struct profile_spans spans; /* in which events are passed */
	size_t at;                  /* the one that is under way, or comes next */
	profile_region_event_fn *each;
	void *arg;
	uint32_t pid, tid;
	struct counts next; /* of the next beginning or end */
	size_t depth;
	struct open stack[PROFILE_MAX_REGION_DEPTH];
};

static uint32_t innermost(const struct walk *w)
{
	return w->depth ? w->stack[w->depth - 1].path : PROFILE_NO_REGION;
}

/* The filter without its times. */
static bool is_wanted(struct walk *w, uint32_t path, uint64_t time_ns, struct profile_task *task)
{
	profile_lookup_task(w->lookup, w->pid, w->tid, time_ns, task);
	return (!w->within || w->within[path]) &&
	       (w->filter->has_trials || !profile_region_is_trial(w->p, path)) &&
	       profile_ranges_has(&w->filter->pids, w->pid) &&
	       profile_ranges_has(&w->filter->tids, w->tid) &&
	       profile_globs_match(&w->filter->comms, task->comm->name) &&
	       profile_choice_has(&w->choice, task->process);
}

/* NULL after the last. */
static const struct profile_span *span_of(const struct walk *w)
{
	return w->at < w->spans.nr ? &w->spans.item[w->at] : NULL;
}

static bool is_within(const struct walk *w, uint64_t time_ns)
{
	const struct profile_span *s = span_of(w);

	return s && time_ns >= s->from_ns;
}

/* Passes the begin of a region, which may have been before the span. */
static int show_begin(struct walk *w, struct open *o)
{
	const struct profile_region_event e = {.kind = PROFILE_REGION_BEGIN,
					       .time_ns = o->begin_ns,
					       .pid = w->pid,
					       .tid = w->tid,
					       .region = o->path,
					       .name = profile_region(w->p, o->path)->name,
					       .value = o->value,
					       .has_value = o->has_value,
					       .task = &o->task,
					       .is_cut = o->is_cut};

	o->is_shown = true;
	return o->is_wanted ? w->each(w->arg, &e) : 0;
}

/* Regions that began before the span, and have not ended. */
static int enter(struct walk *w)
{
	int rc = 0;

	for (size_t i = 0; i < w->depth && rc == 0; i++) {
		struct open *o = &w->stack[i];

		if (o->is_shown)
			continue;
		o->begin_ns = span_of(w)->from_ns;
		o->inner_ns = 0;
		o->is_cut = true;
		rc = show_begin(w, o);
	}
	return rc;
}

static int begin(struct walk *w, const struct region_step *s)
{
	bool is_shown = is_within(w, s->time_ns);
	int rc = is_shown ? enter(w) : 0;
	struct open *o = &w->stack[w->depth];

	if (rc || w->depth == PROFILE_MAX_REGION_DEPTH)
		return rc;
	w->depth++;
	*o = (struct open){.begin_ns = s->time_ns,
			   .path = s->what,
			   .value = s->value,
			   .has_value = s->kind == REGION_STEP_BEGIN_NUMBER};
	o->counts = w->next;
	w->next.nr = 0;
	o->is_wanted = is_wanted(w, s->what, s->time_ns, &o->task);
	/* what marks cost holds for all times */
	return is_shown || profile_region_is_trial(w->p, s->what) ? show_begin(w, o) : 0;
}

static bool are_alike(const struct counts *a, const struct counts *b)
{
	if (!a->nr || a->nr != b->nr)
		return false;
	for (size_t i = 0; i < a->nr; i++)
		if (a->what[i] != b->what[i] || b->value[i] < a->value[i])
			return false;
	return true;
}

/* What the region counted, if it was at both ends; it is then part of what is around it. */
static size_t take_counts(struct walk *w, const struct open *o, bool is_closed,
			  struct profile_region_count counts[PROFILE_MAX_REGION_COUNTS])
{
	struct open *outer = w->depth ? &w->stack[w->depth - 1] : NULL;
	bool is_counted = !is_closed && !o->is_cut && are_alike(&o->counts, &w->next);

	if (!is_closed)
		w->next.nr = 0;
	if (outer) {
		outer->is_inner_partial |= !is_counted;
		outer->nr_inner += is_counted;
		outer->nr_below += is_counted + o->nr_below;
	}
	for (size_t i = 0; is_counted && i < o->counts.nr; i++) {
		uint64_t value = w->next.value[i] - o->counts.value[i];

		counts[i] = (struct profile_region_count){
		    .name = profile_regions_text(w->p->regions, o->counts.what[i]),
		    .value = value,
		    .inner = o->inner[i],
		    .has_inner = !o->is_inner_partial,
		    .nr_below = o->nr_below,
		    .nr_inner = o->nr_inner};
		if (outer)
			outer->inner[i] += value;
	}
	return is_counted ? o->counts.nr : 0;
}

/* Passes the end of a region, or of its part in a span. */
static int show_end(struct walk *w, size_t depth, uint64_t time_ns, bool is_closed,
		    const struct profile_region_count *counts, size_t nr_counts)
{
	struct open *o = &w->stack[depth];
	const struct profile_region_event e = {.kind = PROFILE_REGION_END,
					       .time_ns = time_ns,
					       .pid = w->pid,
					       .tid = w->tid,
					       .region = o->path,
					       .name = profile_region(w->p, o->path)->name,
					       .value = o->value,
					       .has_value = o->has_value,
					       .task = &o->task,
					       .begin_ns = o->begin_ns,
					       .inner_ns = o->inner_ns,
					       .earlier_ns = o->earlier_ns,
					       .is_closed = is_closed,
					       .is_cut = o->is_cut,
					       .counts = counts,
					       .nr_counts = nr_counts};

	if (!o->is_shown)
		return 0;
	o->is_shown = false;
	o->earlier_ns = time_ns;
	if (depth)
		w->stack[depth - 1].inner_ns += time_ns - o->begin_ns;
	return o->is_wanted ? w->each(w->arg, &e) : 0;
}

static int end(struct walk *w, uint64_t time_ns, bool is_closed)
{
	struct profile_region_count counts[PROFILE_MAX_REGION_COUNTS];
	size_t depth = --w->depth, nr = take_counts(w, &w->stack[depth], is_closed, counts);

	return show_end(w, depth, time_ns, is_closed, counts, nr);
}

/* Ends those inside of path, and path itself if it has an end of its own. */
static int end_to(struct walk *w, const struct region_step *s)
{
	bool has_end = s->kind == REGION_STEP_END;
	int rc = 0;

	while (w->depth && innermost(w) != s->what && rc == 0)
		rc = end(w, s->time_ns, true);
	return rc ?: has_end && w->depth ? end(w, s->time_ns, false) : 0;
}

static int show_other(struct walk *w, const struct region_step *s)
{
	bool is_value = s->kind == REGION_STEP_VALUE;
	struct profile_task task;
	const struct profile_region_event e = {.kind = is_value ? PROFILE_REGION_VALUE
								: PROFILE_REGION_INSTANT,
					       .time_ns = s->time_ns,
					       .pid = w->pid,
					       .tid = w->tid,
					       .region = innermost(w),
					       .name = profile_regions_text(w->p->regions, s->what),
					       .value = s->value,
					       .has_value = is_value,
					       .task = &task};

	return is_within(w, s->time_ns) && is_wanted(w, innermost(w), s->time_ns, &task)
		   ? w->each(w->arg, &e)
		   : 0;
}

static int keep_count(struct walk *w, const struct region_step *s)
{
	struct counts *c = &w->next;

	if (c->nr == PROFILE_MAX_REGION_COUNTS)
		return 0;
	c->what[c->nr] = s->what;
	c->value[c->nr++] = (uint64_t)s->value;
	return 0;
}

static int walk_step(struct walk *w, const struct region_step *s)
{
	switch (s->kind) {
	case REGION_STEP_COUNT:
		return keep_count(w, s);
	case REGION_STEP_BEGIN:
	case REGION_STEP_BEGIN_NUMBER:
		return begin(w, s);
	case REGION_STEP_END:
	case REGION_STEP_CLOSE:
		return end_to(w, s);
	case REGION_STEP_INSTANT:
	case REGION_STEP_VALUE:
		return show_other(w, s);
	case REGION_STEP_PROCESS:
		w->pid = s->what;
		return 0;
	default:
		return 0;
	}
}

/* What is open at the end of the span ends there, and goes on in the next one. */
static int leave(struct walk *w)
{
	const struct profile_span *s = span_of(w);
	int rc = enter(w);

	for (size_t i = w->depth; i-- && rc == 0;) {
		w->stack[i].is_cut = true;
		rc = show_end(w, i, s->to_ns, false, NULL, 0);
	}
	w->at++;
	return rc;
}

static int walk_thread(struct walk *w, const struct region_thread *t)
{
	struct region_cursor cursor = {.log = &t->log};
	struct region_step step;
	int rc = 0;

	w->tid = t->tid;
	w->pid = 0;
	w->depth = 0;
	w->next.nr = 0;
	w->at = 0;
	while (rc == 0 && span_of(w) && region_log_next(&cursor, &step)) {
		while (rc == 0 && span_of(w) && step.time_ns >= span_of(w)->to_ns)
			rc = leave(w);
		if (rc == 0 && span_of(w) && step.time_ns > span_of(w)->from_ns)
			rc = enter(w);
		rc = rc ?: walk_step(w, &step);
	}
	return rc;
}

int profile_region_calls(const struct profile_processes *p, const struct profile_filter *filter,
			 uint64_t start_ns, profile_region_event_fn *each, void *arg)
{
	const struct profile_regions *r = p->regions;
	struct walk *w = mem_zalloc(sizeof(*w));
	int rc = w ? profile_choice_make(&w->choice, filter, p) : -ENOMEM;

	if (rc) {
		mem_free(w);
		return rc;
	}
	w->p = p;
	w->filter = filter;
	w->lookup = profile_lookup_new(p);
	w->within = profile_regions_within(p, &filter->regions);
	w->each = each;
	w->arg = arg;
	rc = w->lookup && (w->within || !filter->regions.nr)
		 ? profile_spans_select(&p->spans, filter, start_ns, &w->spans)
		 : -ENOMEM;
	for (size_t i = 0; i < profile_regions_nr_threads(r) && rc == 0; i++)
		rc = walk_thread(w, profile_regions_thread(r, i));
	profile_lookup_free(w->lookup);
	profile_choice_fini(&w->choice);
	profile_spans_fini(&w->spans);
	mem_free(w->within);
	mem_free(w);
	return rc;
}

int profile_region_time(const struct profile_processes *p, const struct profile_filter *filter,
			uint64_t start_ns, uint64_t end_ns, uint64_t *ns)
{
	struct profile_spans spans;
	int rc = profile_spans_select(&p->spans, filter, start_ns, &spans);

	if (rc == 0)
		*ns = profile_spans_ns(&spans, start_ns, end_ns);
	profile_spans_fini(&spans);
	return rc;
}
