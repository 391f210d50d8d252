/*
 * A list of passes over files, each with all that decides what is read but the thread and the
 * event, by which the entries are filtered. The one that was not used for longest is dropped first.
 */
#include "pool.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/filter.h"
#include "report/functions.h"
#include "report/pool.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_PASSES = 16, MAX_NAME_BYTES = 256 << 10 };

struct pass {
	struct buf name;             /* what was read */
	struct report_pool *entries; /* NULL: it is too large */
	struct report_stats stats;
	uint64_t used; /* the last time, in reads */
};

struct pool {
	struct pass item[MAX_PASSES];
	size_t nr, max_bytes;
	uint64_t nr_reads;
	bool is_ahead;
};

/* What is_wanted needs. */
struct choice {
	const struct report_run *run;
	const struct report_input *input;
	struct report_stats *stats;
};

struct pool *pool_new(size_t max_bytes)
{
	struct pool *k = mem_zalloc(sizeof(*k));

	if (k)
		k->max_bytes = max_bytes;
	return k;
}

static void pass_fini(struct pass *r)
{
	buf_fini(&r->name);
	report_pool_free(r->entries);
	report_stats_fini(&r->stats);
}

void pool_free(struct pool *k)
{
	for (size_t i = 0; k && i < k->nr; i++)
		pass_fini(&k->item[i]);
	mem_free(k);
}

static void put_ranges(struct buf *b, const struct profile_ranges *r)
{
	buf_le64(b, r->nr);
	for (size_t i = 0; i < r->nr; i++) {
		buf_le64(b, r->item[i].first);
		buf_le64(b, r->item[i].last);
	}
}

static void put_globs(struct buf *b, const struct profile_globs *g)
{
	buf_le64(b, g->nr);
	for (size_t i = 0; i < g->nr; i++)
		buf_add(b, g->item[i], strlen(g->item[i]) + 1);
}

/* Which events are added up as states depends on which are selected. */
static void put_name(struct buf *b, const struct report_run *run, const struct report_input *input,
		     const struct report_sink *like)
{
	const struct profile_filter *f = run->filter;
	const uint64_t numbers[] = {
	    input->number,     report_pool_parts(like), like->ignores_frames, like->slice_ns,
	    run->with_inlined, run->with_native,        run->with_wakers,     run->sum,
	    run->root,         f->has_trials,           f->from_ns,           f->to_ns,
	    input->start_ns};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		buf_le64(b, numbers[i]);
	put_ranges(b, &f->tids);
	put_ranges(b, &f->cpus);
	put_ranges(b, &f->iterations);
	put_ranges(b, &f->trees);
	put_globs(b, &f->regions);
	put_globs(b, &f->cmdlines);
	if (run->sum)
		put_globs(b, &f->events);
}

static struct pass *find(struct pool *k, const struct buf *name)
{
	for (size_t i = 0; i < k->nr; i++)
		if (k->item[i].name.len == name->len &&
		    memcmp(k->item[i].name.data, name->data, name->len) == 0)
			return &k->item[i];
	return NULL;
}

/* What was read with callers serves a sink without them, too, unless wakers come first. */
static struct pass *find_with_callers(struct pool *k, const struct report_run *run,
				      const struct report_input *input)
{
	struct report_sink like = *run->sink;
	struct pass *r = NULL;
	BUF_AUTO(name, MAX_NAME_BYTES);

	if (like.parts & REPORT_BY_STACK || (run->with_wakers && !like.ignores_frames) ||
	    report_functions_use_callers(run->functions))
		return NULL;
	like.parts |= REPORT_BY_STACK;
	like.ignores_frames = false;
	put_name(&name, run, input, &like);
	if (!buf_error(&name))
		r = find(k, &name);
	return r && r->entries ? r : NULL;
}

static void drop_oldest(struct pool *k)
{
	struct pass *oldest = &k->item[0];

	for (size_t i = 1; i < k->nr; i++)
		if (k->item[i].used < oldest->used)
			oldest = &k->item[i];
	pass_fini(oldest);
	*oldest = k->item[--k->nr];
}

static size_t bytes_of(const struct pool *k)
{
	size_t bytes = 0;

	for (size_t i = 0; i < k->nr; i++)
		bytes += k->item[i].entries ? report_pool_bytes(k->item[i].entries) : 0;
	return bytes;
}

/* Half of the memory; what is read ahead gets at most what is free. */
static size_t room_for_one(const struct pool *k)
{
	const size_t bytes = bytes_of(k), left = k->max_bytes > bytes ? k->max_bytes - bytes : 0;

	return k->is_ahead && left < k->max_bytes / 2 ? left : k->max_bytes / 2;
}

/* Reads all threads and events. 0 or -errno. */
static int fill(struct pass *r, size_t max_bytes, const struct report_run *run,
		const struct report_input *input, size_t nr_events)
{
	struct profile_filter *filter = mem_alloc(sizeof(*filter));
	struct report_run whole = *run;
	int rc = filter ? report_stats_init(&r->stats, nr_events) : -ENOMEM;

	r->entries = report_pool_new(run->sink, max_bytes);
	if (rc == 0 && !r->entries)
		rc = -ENOMEM;
	if (rc == 0) {
		*filter = *run->filter;
		filter->pids.nr = filter->comms.nr = 0;
		filter->events.nr = run->sum ? filter->events.nr : 0;
		whole.filter = filter;
		whole.sink = report_pool_sink(r->entries);
		rc = report_engine_read(&whole, input, &r->stats);
	}
	if (rc == -ENOSPC) {
		report_pool_free(r->entries);
		r->entries = NULL;
		rc = 0;
	}
	mem_free(filter);
	return rc;
}

/* The name moves into the pass. */
static int add(struct pool *k, struct buf *name, const struct report_run *run,
	       const struct report_input *input, size_t nr_events, struct pass **out)
{
	struct pass r = {.entries = NULL};
	int rc = k->is_ahead && k->nr == MAX_PASSES
		     ? -ENOSPC
		     : fill(&r, room_for_one(k), run, input, nr_events);

	if (rc == 0 && k->is_ahead && !r.entries)
		rc = -ENOSPC;
	if (rc) {
		pass_fini(&r);
		return rc;
	}
	r.name = *name;
	*name = (struct buf){.data = NULL};
	while (k->nr &&
	       (k->nr == MAX_PASSES ||
		bytes_of(k) + (r.entries ? report_pool_bytes(r.entries) : 0) > k->max_bytes))
		drop_oldest(k);
	*out = &k->item[k->nr++];
	**out = r;
	return 0;
}

/* Of events that are not, nothing is counted or omitted. */
static bool is_event_wanted(const struct choice *c, size_t event)
{
	const struct trace_event *events = profile_session_facts(c->input->session)->events;

	return c->run->sum || profile_filter_has_event(c->run->filter, &events[event]);
}

static bool is_wanted(void *arg, const struct report_key *key)
{
	const struct choice *c = arg;
	const struct profile_filter *f = c->run->filter;

	return is_event_wanted(c, key->event) && profile_ranges_has(&f->pids, key->pid) &&
	       (!f->comms.nr || profile_globs_match(&f->comms, report_functions_text(
								   c->run->functions, key->comm)));
}

static void count(void *arg, const struct report_key *key, const struct report_weight *weight,
		  bool wanted)
{
	const struct choice *c = arg;
	struct report_event_stats *s = &c->stats->event[key->event];

	if (is_event_wanted(c, key->event))
		report_weight_add(wanted ? &s->counted : &s->omitted, weight);
}

static void add_rest(struct report_rest *to, const struct report_rest *r)
{
	if (__builtin_add_overflow(to->ns, r->ns, &to->ns))
		to->ns = r->ns < 0 ? INT64_MIN : INT64_MAX;
	sum_add(&to->weight, r->weight);
}

static void add_event(struct report_event_stats *to, const struct report_event_stats *s,
		      bool is_selected)
{
	if (is_selected) {
		report_weight_add(&to->omitted, &s->omitted);
		sum_add(&to->unsampled_ns, s->unsampled_ns);
		to->is_of_last |= s->is_of_last;
	}
	sampled_total(&to->sampled, &s->sampled);
	to->is_short |= s->is_short;
	if (s->has_value)
		to->value = to->has_value && to->value > s->value ? to->value : s->value;
	to->has_value |= s->has_value;
	add_rest(&to->lasting, &s->lasting);
	add_rest(&to->excluded, &s->excluded);
}

/* All but what is counted while entries pass. 0 or -ENOMEM. */
static int add_stats(const struct choice *c, const struct report_stats *s)
{
	struct report_stats *to = c->stats;

	for (size_t i = 0; i < to->nr_events && i < s->nr_events; i++)
		add_event(&to->event[i], &s->event[i], is_event_wanted(c, i));
	for (uint32_t i = 0; i < s->programs.nr && c->run->sink->parts & REPORT_BY_STACK; i++) {
		const struct report_program *from = dict_at(&s->programs, i);
		struct report_program *p = dict_get(&to->programs, &from->comm);

		if (!p)
			return -ENOMEM;
		for (int end = 0; end < REPORT_NR_ENDS; end++)
			p->nr[end] += from->nr[end];
	}
	to->nr_user += s->nr_user;
	to->nr_unmapped += s->nr_unmapped;
	to->nr_paused += s->nr_paused;
	sum_add(&to->nr_lost, s->nr_lost);
	to->held_ns = s->held_ns > to->held_ns ? s->held_ns : to->held_ns;
	to->divisor = s->divisor > to->divisor ? s->divisor : to->divisor;
	to->bytes += s->bytes;
	return 0;
}

void pool_set_ahead(struct pool *k, bool is_ahead)
{
	k->is_ahead = is_ahead;
}

int pool_read(struct pool *k, const struct report_run *run, const struct report_input *input,
	      struct report_stats *stats)
{
	struct choice c = {run, input, stats};
	const struct report_pool_choice choice = {is_wanted, count, &c};
	struct pass *r;
	BUF_AUTO(name, MAX_NAME_BYTES);
	int rc = 0;

	put_name(&name, run, input, run->sink);
	if (run->sink->samples || buf_error(&name))
		return report_engine_read(run, input, stats);
	r = find(k, &name) ?: find_with_callers(k, run, input);
	if (!r)
		rc = add(k, &name, run, input, stats->nr_events, &r);
	if (rc)
		return rc;
	r->used = ++k->nr_reads;
	if (!r->entries)
		return report_engine_read(run, input, stats);
	return add_stats(&c, &r->stats) ?: report_pool_read(r->entries, run->sink, &choice);
}
