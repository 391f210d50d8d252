/*
 * The report latency: quantiles of the histograms, over the selected iterations of all sessions.
 */
#include "screen/latency.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "profile/iterator.h"
#include "reports/reports.h"
#include "screen/number.h"

#include <errno.h>
#include <math.h>

enum { ROWS_FOR_PEOPLE = 20, CELL_BYTES = 128 };

struct report {
	struct job *j;
	struct latencies latencies;
	struct latencies_row *sorted; /* owned */
};

#define AMOUNTS(name, shown)                                                                       \
	{name "_ns", NULL, "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},                                 \
	    {name "_low_ns", NULL, "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},                         \
	    {name "_high_ns", NULL, "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},                        \
	{                                                                                          \
		name, shown, NULL, GRID_TEXT, GRID_ONLY_PEOPLE                                     \
	}

static const struct grid_column columns[] = {
    {"event", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"part", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"count", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"sum_ns", "time", "ns", GRID_AMOUNT, GRID_ALL},
    {"mean_ns", "mean", "ns", GRID_AMOUNT, GRID_ALL},
    AMOUNTS("p50", "p50"),
    AMOUNTS("p90", "p90"),
    AMOUNTS("p99", "p99"),
    AMOUNTS("p99_9", "p99.9"),
    {"max_ns", "max", "ns", GRID_AMOUNT, GRID_ALL},
    {"what", NULL, NULL, GRID_TEXT, GRID_ALL},
};

static int add_trace(struct report *r, const struct profile_trace *t)
{
	const struct profile_filter *filter = &r->j->selection->filter;
	int rc = 0;

	for (size_t i = 0; i < t->nr_histograms && rc == 0; i++)
		if (profile_filter_has_event(filter, &t->events[t->histograms[i].event]))
			rc = screen_latency_add(&r->latencies, &t->histograms[i], true);
	return rc;
}

static int read_session(struct report *r, const struct input *o)
{
	struct profile_iterator *it = profile_iterator_new(o->session);
	struct profile_trace trace;
	int rc;

	while ((rc = profile_iterator_next(it, &trace)) == 1) {
		if (!profile_ranges_has(&r->j->selection->filter.iterations, trace.head.iteration))
			continue;
		rc = add_trace(r, &trace);
		if (rc)
			break;
	}
	profile_iterator_free(it);
	return rc;
}

static void put_amount(struct grid *g, double ns)
{
	if (isfinite(ns))
		grid_count(g, (uint64_t)(ns + 0.5));
	else
		grid_none(g);
}

/* "1.02 ms … 1.09 ms", or one bound: "≥ 1.02 ms". */
static void put_quantile(struct grid *g, const struct histogram_quantile *q)
{
	BUF_AUTO(b, CELL_BYTES);

	put_amount(g, q->ns);
	put_amount(g, q->low_ns);
	put_amount(g, q->high_ns);
	screen_human(&b, q->ns, "ns");
	buf_adds(&b, isfinite(q->high_ns) ? " [" : " [≥ ");
	screen_human(&b, q->low_ns, "ns");
	if (isfinite(q->high_ns)) {
		buf_adds(&b, ", ");
		screen_human(&b, q->high_ns, "ns");
	}
	buf_addc(&b, ']');
	grid_text(g, buf_str(&b));
}

static void put_row(const struct report *r, struct grid *g, const struct latencies_row *row)
{
	const struct histogram *h = row->histogram;

	grid_row(g);
	grid_text(g, job_event(r->j, row->event)->label);
	grid_text(g, row->part);
	grid_count(g, h->count);
	grid_count(g, h->sum_ns);
	put_amount(g, histogram_mean(h));
	for (size_t i = 0; i < SCREEN_LATENCY_NR; i++) {
		struct histogram_quantile q =
		    histogram_quantile(h, screen_latency_quantiles[i].quantile);

		put_quantile(g, &q);
	}
	grid_count(g, h->max_ns);
	grid_text(g, row->what);
}

static int put_rows(struct report *r, struct err *e)
{
	struct grid *g = reports_grid(r->j, columns, ARRAY_NR(columns));
	struct reports_rest rest = {.nr = 0};
	uint64_t top = reports_top(r->j, ROWS_FOR_PEOPLE), nr = 0;

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	if (r->j->output->form == GRID_PEOPLE)
		buf_adds(&r->j->output->text, r->latencies.rows.nr
						  ? "\nLatencies, with 95 % intervals\n"
						  : "\nNo latencies\n");
	for (uint32_t i = 0; i < r->latencies.rows.nr; i++) {
		const struct latencies_row *row = &r->sorted[i];

		nr = row->what[0] ? nr + 1 : 0;
		if (nr > top) {
			rest.nr++;
			rest.is_beyond_top = true;
		} else {
			put_row(r, g, row);
		}
	}
	reports_rest_put(r->j, &rest, NULL, g);
	return reports_end(r->j, g, 0, e);
}

int reports_latency(struct job *j, struct err *e)
{
	struct report r = {.j = j};
	int rc = 0;

	for (size_t i = j->first; i < j->first + j->nr && rc == 0; i++)
		rc = read_session(&r, &j->inputs->item[i]);
	r.sorted = rc ? NULL : latencies_sorted(&r.latencies);
	rc = r.sorted ? put_rows(&r, e) : err_set(e, -ENOMEM, "out of memory");
	latencies_fini(&r.latencies);
	mem_free(r.sorted);
	return rc;
}
