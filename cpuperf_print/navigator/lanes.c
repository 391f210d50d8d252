/*
 * Counts by thread, slice and state; slices are as long as makes at most NR_SLICES of them.
 */
#include "navigator/lanes.h"

#include "base/dict.h"
#include "base/err.h"
#include "base/order.h"
#include "navigator/threads.h"
#include "registry.h"
#include "report/states.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <stdlib.h>

enum { NR_SLICES = 400, MAX_SHARES = 4 << 20 };

struct share {
	uint32_t thread, slice, state; /* its key */
	uint64_t samples, count;
};

struct lanes {
	struct job *j;
	uint64_t slice_ns, end_ns;
	struct dict threads, shares;
};

static int add_entry(void *arg, const struct report_entry *e)
{
	struct lanes *l = arg;
	uint32_t key[] = {threads_add(&l->threads, e), e->key.slice, e->key.state};
	struct share *share = key[0] == DICT_NONE ? NULL : dict_get(&l->shares, key);

	if (!share)
		return l->shares.nr >= MAX_SHARES ? -EFBIG : -ENOMEM;
	share->samples += e->weight.samples;
	share->count += e->weight.weight;
	return 0;
}

static int compare_shares(const void *a, const void *b, void *lanes)
{
	const struct share *x = a, *y = b;
	const struct lanes *l = lanes;

	return threads_compare(&l->threads, x->thread, y->thread)
		   ?: order_u64(x->slice, y->slice) ?: order_u64(x->state, y->state);
}

static void put_share(const struct lanes *l, struct grid *g, const struct share *share)
{
	grid_row(g);
	threads_put(l->j, g, dict_at(&l->threads, share->thread));
	grid_count(g, share->slice * l->slice_ns);
	grid_count(g, l->slice_ns);
	grid_text(g, report_state_names[share->state]);
	grid_count(g, share->samples);
	grid_count(g, share->count);
}

static int put_all(struct lanes *l, struct err *e)
{
	static const struct grid_column columns[] = {
	    THREADS_COLUMNS,
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
	struct report_sink sink = {.parts = threads_parts | REPORT_BY_STATE | REPORT_BY_SLICE,
				   .ignores_frames = true,
				   .entry = add_entry,
				   .arg = &l};
	struct report_stats stats = {.nr_events = 0};
	int rc;

	threads_init(&l.threads);
	dict_init(&l.shares, sizeof(struct share), DICT_KEY(struct share, state), MAX_SHARES);
	rc = threads_slice(j, NR_SLICES, &l.slice_ns, &l.end_ns);
	sink.slice_ns = l.slice_ns;
	rc = rc ?: samples_read(j, j->first, j->nr, &sink, &stats, e) ?: threads_rank(&l.threads) ?: put_all(&l, e);
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
				       .kind = REGISTRY_VIEW,
				       .samples = REGISTRY_SAMPLES,
				       .sessions = REGISTRY_LANES,
				       .adds_states = true,
				       .print = print};
