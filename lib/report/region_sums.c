#include "report/region_sums.h"

#include "base/mem.h"
#include "base/order.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

enum { MAX_THREADS = 1 << 20, MAX_SUMS = 1 << 22 };

static uint32_t find_thread(struct report_region_sums *s, const struct profile_region_event *e)
{
	const struct report_region_thread key = {.pid = e->pid, .tid = e->tid};
	uint32_t number = dict_add(&s->threads, &key);
	struct report_region_thread *t = dict_at(&s->threads, number);

	if (!t)
		return DICT_NONE;
	t->thread = e->task->thread;
	snprintf(t->comm, sizeof(t->comm), "%s", e->task->comm->name);
	return number + 1;
}

static uint32_t find_sum(struct report_region_sums *s, uint32_t thread, uint32_t region)
{
	const struct report_region_sum key = {.thread = thread, .region = region};
	size_t nr = s->sums.nr;
	uint32_t number = dict_add(&s->sums, &key);

	if (s->sums.nr > nr)
		((struct report_region_sum *)dict_at(&s->sums, number))->min_ns = UINT64_MAX;
	return number;
}

/* By Welford's method, which loses no digits to large means. */
static void count_time(struct report_region_sum *r, uint64_t ns)
{
	double off = (double)ns - r->mean_ns;

	r->min_ns = ns < r->min_ns ? ns : r->min_ns;
	r->max_ns = ns > r->max_ns ? ns : r->max_ns;
	r->mean_ns += off / (double)report_region_timed(r);
	r->squares += off * ((double)ns - r->mean_ns);
}

static void count_call(struct report_region_sum *r, const struct profile_region_event *e,
		       uint64_t ns)
{
	if (!e->earlier_ns) { /* the parts of a call are one */
		r->calls++;
		r->cut += e->is_cut;
	}
	r->closed += e->is_closed;
	r->whole += !e->is_closed && !e->is_cut;
	r->wall_ns += ns;
	r->self_ns += ns > e->inner_ns ? ns - e->inner_ns : 0;
	if (!e->is_cut)
		count_time(r, ns);
}

/* Calls of a thread follow each other. */
static void count_thread(struct report_region_sums *s, const struct profile_region_event *e)
{
	if ((e->pid == s->last_pid && e->tid == s->last_tid) ||
	    profile_region_is_trial(s->processes, e->region))
		return;
	s->last_pid = e->pid;
	s->last_tid = e->tid;
	s->nr_threads++;
}

/* 0: there is no room for another one. */
static int refuse(struct report_region_sums *s)
{
	bool is_full = s->threads.nr >= MAX_THREADS || s->sums.nr >= MAX_SUMS;

	s->is_full |= is_full;
	return is_full ? 0 : -ENOMEM;
}

static int add_event(void *arg, const struct profile_region_event *e)
{
	struct report_region_sums *s = arg;
	uint64_t ns = e->time_ns - e->begin_ns;
	uint32_t thread, sum;

	if (e->kind == PROFILE_REGION_BEGIN)
		return 0;
	thread = s->by_thread ? find_thread(s, e) : REPORT_ALL_THREADS;
	if (e->kind != PROFILE_REGION_END)
		return thread == DICT_NONE ? refuse(s)
					   : report_region_instants_add(&s->instants, thread, e);
	sum = thread == DICT_NONE ? DICT_NONE : find_sum(s, thread, e->region);
	if (sum == DICT_NONE)
		return refuse(s);
	count_thread(s, e);
	count_call(dict_at(&s->sums, sum), e, ns);
	return report_region_count_sums_add(&s->counts, sum, e)
		   ?: e->is_cut ? 0
				: report_buckets_add(&s->buckets, sum, (int64_t)ns);
}

/* The regions around each region. */
static int add_outer(struct report_region_sums *s, const struct profile_processes *p,
		     const bool *within)
{
	for (uint32_t i = 0; i < s->sums.nr; i++) {
		const struct report_region_sum *r = dict_at(&s->sums, i);
		uint32_t parent = profile_region(p, r->region)->parent;

		if (parent && !profile_region_is_trial(p, r->region) &&
		    (!within || within[parent]) && find_sum(s, r->thread, parent) == DICT_NONE)
			return s->sums.nr >= MAX_SUMS ? 0 : -ENOMEM;
	}
	return 0;
}

int report_region_sums_read(struct report_region_sums *s, const struct profile_processes *p,
			    const struct profile_filter *filter, uint64_t start_ns, bool by_thread)
{
	bool *within = NULL;
	int rc;

	*s = (struct report_region_sums){.processes = p, .by_thread = by_thread};
	dict_init(&s->threads, sizeof(struct report_region_thread),
		  DICT_KEY(struct report_region_thread, tid), MAX_THREADS);
	dict_init(&s->sums, sizeof(struct report_region_sum),
		  DICT_KEY(struct report_region_sum, region), MAX_SUMS);
	report_buckets_init(&s->buckets);
	report_region_instants_init(&s->instants);
	report_region_count_sums_init(&s->counts);
	rc = profile_region_calls(p, filter, start_ns, add_event, s);
	if (rc)
		return rc;
	within = profile_regions_within(p, &filter->regions);
	rc = within || !filter->regions.nr ? add_outer(s, p, within) : -ENOMEM;
	mem_free(within);
	report_buckets_sort(&s->buckets);
	report_region_instants_sort(&s->instants);
	return rc;
}

void report_region_sums_fini(struct report_region_sums *s)
{
	dict_fini(&s->threads);
	dict_fini(&s->sums);
	report_buckets_fini(&s->buckets);
	report_region_instants_fini(&s->instants);
	report_region_count_sums_fini(&s->counts);
}

uint32_t report_region_sums_find(const struct report_region_sums *s, uint32_t thread,
				 uint32_t region)
{
	const struct report_region_sum key = {.thread = thread, .region = region};

	return dict_find(&s->sums, &key);
}

uint32_t report_region_sums_add(struct report_region_sums *s, uint32_t thread, uint32_t region)
{
	const uint32_t sum = find_sum(s, thread, region);

	s->is_full |= sum == DICT_NONE;
	return sum;
}

uint32_t report_region_sums_add_thread(struct report_region_sums *s,
				       const struct report_region_thread *t)
{
	const size_t nr = s->threads.nr;
	const uint32_t number = dict_add(&s->threads, t);

	s->is_full |= number == DICT_NONE;
	if (s->threads.nr > nr)
		*(struct report_region_thread *)dict_at(&s->threads, number) = *t;
	return number + 1; /* DICT_NONE + 1 is 0 */
}

uint32_t report_region_sums_thread(const struct report_region_sums *s, uint32_t pid, uint32_t tid)
{
	const struct report_region_thread key = {.pid = pid, .tid = tid};

	return dict_find(&s->threads, &key) + 1; /* DICT_NONE + 1 is 0 */
}

double report_region_quantile(const struct report_region_sums *s, const struct report_region_sum *r,
			      double q)
{
	return report_buckets_quantile(
	    &s->buckets, report_region_sums_find(s, r->thread, r->region), report_region_timed(r),
	    (int64_t)r->min_ns, (int64_t)r->max_ns, q);
}

double report_region_deviation(const struct report_region_sum *r)
{
	uint64_t nr = report_region_timed(r);

	return nr > 1 ? sqrt(r->squares / (double)(nr - 1)) : NAN;
}
