/*
 * Of several sessions the longest one decides how long slices are.
 */
#include "navigator/threads.h"

#include "base/mem.h"
#include "base/order.h"
#include "job.h"
#include "profile/about.h"
#include "report/functions.h"
#include "report/slices.h"
#include "reports/reports.h"
#include "trace/record.h"

#include <errno.h>

const unsigned threads_parts = REPORT_BY_SESSION | REPORT_BY_PID | REPORT_BY_TID | REPORT_BY_COMM;

void threads_init(struct dict *threads)
{
	dict_init(threads, sizeof(struct thread), DICT_KEY(struct thread, thread), DICT_MAX);
}

uint32_t threads_add(struct dict *threads, const struct report_entry *e)
{
	const uint32_t of[] = {e->key.event, e->key.session, e->key.pid, e->key.tid, e->key.thread};
	const uint32_t number = dict_add(threads, of);
	struct thread *t = dict_at(threads, number);

	if (t) {
		if (e->key.slice > t->slice || (e->key.slice == t->slice && e->key.comm > t->comm))
			t->comm = e->key.comm;
		t->slice = e->key.slice > t->slice ? e->key.slice : t->slice;
		t->count += e->weight.weight;
	}
	return number;
}

static int compare(const void *a, const void *b)
{
	const struct thread *x = *(const struct thread *const *)a,
			    *y = *(const struct thread *const *)b;

	return order_u64(x->event, y->event) ?: order_u64(y->count, x->count)
		   ?: order_u64(x->session, y->session) ?: order_u64(x->pid, y->pid) ?: order_u64(x->tid, y->tid)
		   ?: order_u64(x->thread, y->thread);
}

int threads_rank(struct dict *threads)
{
	struct thread **list = mem_calloc(threads->nr + 1, sizeof(*list));
	uint32_t rank = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < threads->nr; i++)
		list[i] = dict_at(threads, i);
	order_sort(list, threads->nr, sizeof(*list), compare);
	for (size_t i = 0; i < threads->nr; i++) {
		rank = i && list[i]->event == list[i - 1]->event ? rank + 1 : 0;
		list[i]->rank = rank;
	}
	mem_free(list);
	return 0;
}

int threads_compare(const struct dict *threads, uint32_t a, uint32_t b)
{
	const struct thread *x = dict_at(threads, a), *y = dict_at(threads, b);

	return order_u64(x->event, y->event) ?: order_u64(x->rank, y->rank);
}

/* What a filter leaves of a session. */
static uint64_t shown_ns(const struct profile_filter *f, uint64_t span_ns)
{
	uint64_t to_ns = f->to_ns && f->to_ns < span_ns ? f->to_ns : span_ns;

	return f->from_ns < to_ns ? to_ns - f->from_ns : 0;
}

int threads_slice(const struct job *j, unsigned nr, uint64_t *slice_ns, uint64_t *end_ns)
{
	uint64_t longest_ns = 0;

	*end_ns = 0;

	for (size_t k = j->first; k < j->first + j->nr; k++) {
		struct profile_about about;
		int rc = profile_about_read(&about, j->inputs->item[k].session, NULL, NULL);
		uint64_t span_ns = rc == 0 ? about.end_ns - about.start_ns : 0,
			 ns = shown_ns(&j->selection->filter, span_ns);

		longest_ns = ns > longest_ns ? ns : longest_ns;
		*end_ns = span_ns > *end_ns ? span_ns : *end_ns;
		profile_about_fini(&about);
		if (rc)
			return rc;
	}
	*slice_ns = report_slices_round(longest_ns, nr);
	while (*end_ns / *slice_ns >= UINT32_MAX) /* numbers of slices */
		*slice_ns *= 10;
	if (j->selection->filter.to_ns && j->selection->filter.to_ns < *end_ns)
		*end_ns = j->selection->filter.to_ns;
	return 0;
}

static void put_number(struct grid *g, uint32_t number)
{
	number == TRACE_UNKNOWN ? grid_none(g) : grid_count(g, number);
}

void threads_put_name(const struct job *j, struct grid *g, const struct thread *t)
{
	const struct input *o = &j->inputs->item[t->session];

	grid_text(g, o->path);
	grid_text(g, input_host(o));
	grid_text(g, report_functions_text(j->inputs->functions, t->comm));
	put_number(g, t->pid);
	put_number(g, t->tid);
	put_number(g, t->thread);
}

void threads_put(const struct job *j, struct grid *g, const struct thread *t)
{
	grid_text(g, job_event(j, t->event)->label);
	threads_put_name(j, g, t);
}
