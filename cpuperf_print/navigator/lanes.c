/*
 * Counts by thread, slice and state; slices are as long as makes at most NR_SLICES of them.
 */
#include "navigator/lanes.h"

#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/about.h"
#include "registry.h"
#include "report/functions.h"
#include "report/slices.h"
#include "report/states.h"
#include "reports/reports.h"
#include "samples.h"
#include "trace/record.h"

#include <errno.h>
#include <stdlib.h>

enum { NR_SLICES = 400, MAX_SHARES = 4 << 20 };

struct thread {
	uint32_t event, pid, tid, thread; /* its key */
	uint32_t comm;                    /* the last one */
	uint32_t rank;                    /* by count, from 0 */
	uint64_t count;
};

struct share {
	uint32_t thread, slice, state; /* its key */
	uint64_t samples, count;
};

struct lanes {
	struct job *j;
	uint64_t slice_ns;
	struct dict threads, shares;
};

static int add_entry(void *arg, const struct report_entry *e)
{
	struct lanes *l = arg;
	const uint32_t of[] = {e->key.event, e->key.pid, e->key.tid, e->key.thread};
	uint32_t key[3] = {dict_add(&l->threads, of), e->key.slice, e->key.state};
	struct thread *t = dict_at(&l->threads, key[0]);
	struct share *share = t ? dict_get(&l->shares, key) : NULL;

	if (!share)
		return l->shares.nr >= MAX_SHARES ? -EFBIG : -ENOMEM;
	t->comm = e->key.comm;
	t->count += e->weight.weight;
	share->samples += e->weight.samples;
	share->count += e->weight.weight;
	return 0;
}

/* Of the longest session. 0 or -ENOMEM. */
static int choose_slice(struct lanes *l)
{
	const struct inputs *in = l->j->inputs;
	uint64_t span_ns = 0;

	for (size_t k = l->j->first; k < l->j->first + l->j->nr; k++) {
		struct profile_about about;
		int rc = profile_about_read(&about, in->item[k].session, NULL, NULL);

		if (rc == 0 && about.end_ns - about.start_ns > span_ns)
			span_ns = about.end_ns - about.start_ns;
		profile_about_fini(&about);
		if (rc)
			return rc;
	}
	l->slice_ns = report_slices_round(span_ns, NR_SLICES);
	return 0;
}

static int compare_threads(const void *a, const void *b)
{
	const struct thread *x = *(const struct thread *const *)a,
			    *y = *(const struct thread *const *)b;

	return order_u64(x->event, y->event) ?: order_u64(y->count, x->count)
		   ?: order_u64(x->pid, y->pid) ?: order_u64(x->tid, y->tid)
		   ?: order_u64(x->thread, y->thread);
}

/* Those with most time first, of each event. 0 or -ENOMEM. */
static int rank_threads(struct lanes *l)
{
	struct thread **list = mem_calloc(l->threads.nr + 1, sizeof(*list));
	uint32_t rank = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->threads.nr; i++)
		list[i] = dict_at(&l->threads, i);
	order_sort(list, l->threads.nr, sizeof(*list), compare_threads);
	for (size_t i = 0; i < l->threads.nr; i++) {
		rank = i && list[i]->event == list[i - 1]->event ? rank + 1 : 0;
		list[i]->rank = rank;
	}
	mem_free(list);
	return 0;
}

static int compare_shares(const void *a, const void *b, void *lanes)
{
	const struct share *x = a, *y = b;
	const struct lanes *l = lanes;
	const struct thread *t = dict_at(&l->threads, x->thread),
			    *u = dict_at(&l->threads, y->thread);

	return order_u64(t->event, u->event) ?: order_u64(t->rank, u->rank)
		   ?: order_u64(x->slice, y->slice) ?: order_u64(x->state, y->state);
}

static void put_number(struct grid *g, uint32_t number)
{
	number == TRACE_UNKNOWN ? grid_none(g) : grid_count(g, number);
}

static void put_share(const struct lanes *l, struct grid *g, const struct share *share)
{
	const struct thread *t = dict_at(&l->threads, share->thread);

	grid_row(g);
	grid_text(g, job_event(l->j, t->event)->label);
	grid_text(g, report_functions_text(l->j->inputs->functions, t->comm));
	put_number(g, t->pid);
	put_number(g, t->tid);
	put_number(g, t->thread);
	grid_count(g, share->slice * l->slice_ns);
	grid_count(g, l->slice_ns);
	grid_text(g, report_state_names[share->state]);
	grid_count(g, share->samples);
	grid_count(g, share->count);
}

static int put_all(struct lanes *l, struct err *e)
{
	static const struct grid_column columns[] = {
	    {"event", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"comm", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"pid", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"tid", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"thread", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"from_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"slice_ns", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"state", NULL, NULL, GRID_TEXT, GRID_ALL},
	    {"samples", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"count", NULL, NULL, GRID_COUNT, GRID_ALL},
	};
	struct grid *g = reports_grid(l->j, columns, sizeof(columns) / sizeof(columns[0]));
	const uint64_t top = reports_top(l->j, UINT64_MAX);
	const struct share *shares = l->shares.items;

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	if (l->shares.nr)
		qsort_r(l->shares.items, l->shares.nr, sizeof(*shares), compare_shares, l);
	for (size_t i = 0; i < l->shares.nr; i++)
		if (((const struct thread *)dict_at(&l->threads, shares[i].thread))->rank < top)
			put_share(l, g, &shares[i]);
	return reports_end(l->j, g, 0, e);
}

static int print(struct job *j, struct err *e)
{
	struct lanes l = {.j = j};
	struct report_sink sink = {.parts = REPORT_BY_PID | REPORT_BY_TID | REPORT_BY_COMM |
					    REPORT_BY_STATE | REPORT_BY_SLICE,
				   .entry = add_entry,
				   .arg = &l};
	struct report_stats stats = {.nr_events = 0};
	int rc;

	dict_init(&l.threads, sizeof(struct thread), DICT_KEY(struct thread, thread), DICT_MAX);
	dict_init(&l.shares, sizeof(struct share), DICT_KEY(struct share, state), MAX_SHARES);
	rc = choose_slice(&l);
	sink.slice_ns = l.slice_ns;
	rc = rc ?: samples_read(j, j->first, j->nr, &sink, &stats, e) ?: rank_threads(&l) ?: put_all(&l, e);
	if (rc == -EFBIG) {
		err_clear(e);
		err_set(e, rc, "too many threads over time");
		err_hint(e, "select fewer: comm=, pid=, from=, to=");
	}
	report_stats_fini(&stats);
	dict_fini(&l.threads);
	dict_fini(&l.shares);
	return rc;
}

/* Of all sessions at once, as exports. */
const struct registry_row lanes_row = {.name = "lanes",
				       .kind = REGISTRY_EXPORT,
				       .samples = REGISTRY_SAMPLES,
				       .sessions = REGISTRY_SUM,
				       .adds_states = true,
				       .print = print};
