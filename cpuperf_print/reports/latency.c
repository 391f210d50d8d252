/*
 * The report latency: quantiles of the histograms, over the selected iterations of all sessions, or
 * by session and iteration (--sort).
 */
#include "screen/latency.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "counts/latency.h"
#include "profile/session.h"
#include "reports/columns.h"
#include "reports/reports.h"
#include "screen/number.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { ROWS_FOR_PEOPLE = 20, CELL_BYTES = 128 };

struct report {
	struct job *j;
	bool by_iteration, by_session;
	struct latencies latencies; /* of all, or of the session or iteration that is being read */
	const struct input *input;  /* of this one */
	uint32_t iteration;
	struct grid *g;
	struct reports_rest rest;
	bool has_rows;
};

/* leaves: of the quantile and of its interval, where the table is too wide. */
#define QUANTILE(name, shown, leaves, interval_leaves)                                             \
	{name "_ns", shown, "ns", GRID_AMOUNT, GRID_ALL, leaves},                                  \
	    {name "_low_ns", NULL, "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},                         \
	    {name "_high_ns", NULL, "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},                        \
	{                                                                                          \
		name "_interval", "95 % interval", NULL, GRID_TEXT, GRID_ONLY_PEOPLE,              \
		    interval_leaves                                                                \
	}

static const struct grid_column session_column = {"session", NULL, NULL, GRID_TEXT, GRID_ALL},
				iteration_column = {"iteration", NULL, NULL, GRID_NUMBER, GRID_ALL};

static const struct grid_column columns[] = {
    {"event", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"part", NULL, NULL, GRID_TEXT, GRID_ALL, 9},
    {"name", "what", NULL, GRID_TEXT, GRID_ONLY_PEOPLE},
    {"count", NULL, NULL, GRID_COUNT, GRID_ALL},
    {"sum_ns", "time", "ns", GRID_AMOUNT, GRID_ALL, 5},
    {"mean_ns", "mean", "ns", GRID_AMOUNT, GRID_ALL, 6},
    QUANTILE("p50", "p50", 0, 2),
    QUANTILE("p90", "p90", 7, 1),
    QUANTILE("p99", "p99", 0, 4),
    QUANTILE("p99_9", "p99.9", 8, 3),
    {"max_ns", "max", "ns", GRID_AMOUNT, GRID_ALL},
    {"what", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
};

/* The interval: "[1.02 ms, 1.09 ms]", or one bound: "[≥ 1.02 ms]". */
static void put_quantile(struct grid *g, const struct histogram_quantile *q)
{
	BUF_AUTO(b, CELL_BYTES);

	reports_put_ns(g, q->ns);
	reports_put_ns(g, q->low_ns);
	reports_put_ns(g, q->high_ns);
	buf_adds(&b, isfinite(q->high_ns) ? "[" : "[≥ ");
	screen_human(&b, q->low_ns, "ns");
	if (isfinite(q->high_ns)) {
		buf_adds(&b, ", ");
		screen_human(&b, q->high_ns, "ns");
	}
	buf_addc(&b, ']');
	grid_text(g, buf_str(&b));
}

static void put_row(const struct report *r, const struct latencies_row *row)
{
	const struct histogram *h = row->histogram;
	struct grid *g = r->g;

	grid_row(g);
	if (r->by_session)
		grid_text(g, r->input->path);
	if (r->by_iteration)
		grid_count(g, r->iteration);
	grid_text(g, job_event(r->j, row->event)->label);
	grid_text(g, row->part);
	grid_text(g, row->what);
	grid_count(g, h->count);
	grid_count(g, h->sum_ns);
	reports_put_ns(g, histogram_mean(h));
	for (size_t i = 0; i < SCREEN_LATENCY_NR; i++) {
		struct histogram_quantile q =
		    histogram_quantile(h, screen_latency_quantiles[i].quantile);

		put_quantile(g, &q);
	}
	grid_count(g, h->max_ns);
	grid_text(g, row->what);
}

/* Prints the rows so far, and begins anew. */
static int put_rows(struct report *r)
{
	uint64_t top = reports_top(r->j, r->by_iteration ? 0 : ROWS_FOR_PEOPLE), nr = 0;
	MEM_AUTO struct latencies_row *rows = latencies_sorted(&r->latencies);

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->latencies.rows.nr; i++) {
		nr = rows[i].what[0] ? nr + 1 : 0;
		if (nr > top) {
			r->rest.nr++;
			r->rest.is_beyond_top = true;
		} else {
			put_row(r, &rows[i]);
		}
	}
	r->has_rows |= r->latencies.rows.nr > 0;
	latencies_fini(&r->latencies);
	return 0;
}

static int add_trace(void *arg, const struct profile_trace *t)
{
	struct report *r = arg;
	const struct profile_filter *filter = &r->j->selection->filter;
	int rc = 0;

	if (r->by_iteration && t->head.iteration != r->iteration)
		rc = put_rows(r);
	r->iteration = t->head.iteration;
	for (size_t i = 0; i < t->nr_histograms && rc == 0; i++)
		if (profile_filter_has_event(filter, &t->events[t->histograms[i].event]))
			rc = counts_latency_add(&r->latencies, &t->histograms[i], true);
	return rc;
}

static int read_session(struct report *r, const struct input *o)
{
	int rc;

	r->input = o;
	rc = reports_each_trace(r->j, o, add_trace, r);
	return rc ?: r->by_session || r->by_iteration ? put_rows(r) : 0;
}

static struct grid *make_grid(const struct report *r)
{
	struct grid_column all[2 + ARRAY_NR(columns)];
	size_t nr = 0;

	if (r->by_session)
		all[nr++] = session_column;
	if (r->by_iteration)
		all[nr++] = iteration_column;
	memcpy(&all[nr], columns, sizeof(columns));
	return reports_grid(r->j, all, nr + ARRAY_NR(columns));
}

/* Iterations are those of a session: of several, each row names its own. */
int reports_latency(struct job *j, struct err *e)
{
	const unsigned by = j->selection->columns;
	struct report r = {.j = j, .by_iteration = by >> REPORT_ITERATION & 1};
	int rc = 0;

	r.by_session = by >> REPORT_SESSION & 1 || (r.by_iteration && j->nr > 1);
	r.g = make_grid(&r);
	for (size_t i = j->first; i < j->first + j->nr && rc == 0 && r.g; i++)
		rc = read_session(&r, &j->inputs->item[i]);
	rc = rc ?: r.g ? put_rows(&r) : -ENOMEM;
	latencies_fini(&r.latencies);
	if (rc)
		err_set(e, rc, "the latencies cannot be printed: %s", strerror(-rc));
	if (rc == 0 && j->output->form == GRID_PEOPLE)
		buf_adds(&j->output->text,
			 r.has_rows ? "\nLatencies\n"
				    : "\nNo latencies: events of the group latency measure them\n");
	if (rc == 0)
		reports_rest_put(j, &r.rest, NULL, r.g);
	if (rc == 0 && !r.has_rows && j->output->form == GRID_PEOPLE) { /* no header alone */
		grid_free(r.g);
		return output_flush(j->output, e);
	}
	return reports_end(j, r.g, rc, e);
}
