/*
 * The report latency: quantiles of the histograms, over the selected iterations of all sessions.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "estimate/histogram.h"
#include "profile/iterator.h"
#include "reports/reports.h"
#include "screen/number.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { MAX_ROWS = 1 << 20, ROWS_FOR_PEOPLE = 20, CELL_BYTES = 128 };

static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};
enum { NR_QUANTILES = ARRAY_NR(quantiles) };

/* A row of the report; the key ends with what. Without part and what: all of the event. */
struct row {
	uint32_t event, unused;
	char part[TRACE_HISTOGRAM_BYTES], what[TRACE_HISTOGRAM_BYTES];
	struct histogram *histogram; /* owned */
};

struct latencies {
	struct job *j;
	struct dict rows;   /* struct row */
	struct row *sorted; /* owned */
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

static struct histogram *histogram_of(struct latencies *l, uint32_t event, const char *part,
				      const char *what)
{
	struct row key, *row;

	memset(&key, 0, sizeof(key));
	key.event = event;
	memcpy(key.part, part, strnlen(part, sizeof(key.part) - 1));
	memcpy(key.what, what, strnlen(what, sizeof(key.what) - 1));
	row = dict_get(&l->rows, &key);
	if (row && !row->histogram)
		row->histogram = mem_zalloc(sizeof(*row->histogram));
	return row ? row->histogram : NULL;
}

static int add_to(struct histogram *to, const struct trace_histogram *h)
{
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < h->nr; i++)
		histogram_add(to, h->bucket[i].number, h->bucket[i].count);
	if (h->nr)
		histogram_add_sum(to, h->sum_ns, h->max_ns, h->bucket[h->nr - 1].number);
	return 0;
}

static int add_trace(struct latencies *l, const struct profile_trace *t)
{
	const struct profile_filter *filter = &l->j->selection->filter;
	int rc = 0;

	for (size_t i = 0; i < t->nr_histograms && rc == 0; i++) {
		const struct trace_histogram *h = &t->histograms[i];

		if (!profile_filter_has_event(filter, &t->events[h->event]))
			continue;
		rc = add_to(histogram_of(l, h->event, h->part, ""), h);
		if (rc == 0 && h->what[0])
			rc = add_to(histogram_of(l, h->event, h->part, h->what), h);
	}
	return rc;
}

static int read_session(struct latencies *l, const struct input *o)
{
	struct profile_iterator *it = profile_iterator_new(o->session);
	struct profile_trace trace;
	int rc;

	while ((rc = profile_iterator_next(it, &trace)) == 1) {
		if (!profile_ranges_has(&l->j->selection->filter.iterations, trace.head.iteration))
			continue;
		rc = add_trace(l, &trace);
		if (rc)
			break;
	}
	profile_iterator_free(it);
	return rc;
}

/* All of an event, and then what took the most time. */
static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int rc = order_u64(x->event, y->event) ?: strcmp(x->part, y->part);

	if (rc)
		return rc;
	if (!x->what[0] || !y->what[0])
		return order_u64(x->what[0] != 0, y->what[0] != 0);
	return order_u64(y->histogram->sum_ns, x->histogram->sum_ns) ?: strcmp(x->what, y->what);
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

static void put_row(const struct latencies *l, struct grid *g, const struct row *row)
{
	const struct histogram *h = row->histogram;

	grid_row(g);
	grid_text(g, job_event(l->j, row->event)->label);
	grid_text(g, row->part);
	grid_count(g, h->count);
	grid_count(g, h->sum_ns);
	put_amount(g, histogram_mean(h));
	for (size_t i = 0; i < NR_QUANTILES; i++) {
		struct histogram_quantile q = histogram_quantile(h, quantiles[i]);

		put_quantile(g, &q);
	}
	grid_count(g, h->max_ns);
	grid_text(g, row->what);
}

static int put_rows(struct latencies *l, struct err *e)
{
	struct grid *g = reports_grid(l->j, columns, ARRAY_NR(columns));
	struct reports_rest rest = {.nr = 0};
	uint64_t top = reports_top(l->j, ROWS_FOR_PEOPLE), nr = 0;

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	if (l->j->output->form == GRID_PEOPLE)
		buf_adds(&l->j->output->text,
			 l->rows.nr ? "\nLatencies, with 95 % intervals\n" : "\nNo latencies\n");
	for (uint32_t i = 0; i < l->rows.nr; i++) {
		const struct row *row = &l->sorted[i];

		nr = row->what[0] ? nr + 1 : 0;
		if (nr > top) {
			rest.nr++;
			rest.is_beyond_top = true;
		} else {
			put_row(l, g, row);
		}
	}
	reports_rest_put(l->j, &rest, NULL, g);
	return reports_end(l->j, g, 0, e);
}

int reports_latency(struct job *j, struct err *e)
{
	struct latencies l = {.j = j};
	int rc = 0;

	dict_init(&l.rows, sizeof(struct row), DICT_KEY(struct row, what), MAX_ROWS);
	for (size_t i = j->first; i < j->first + j->nr && rc == 0; i++)
		rc = read_session(&l, &j->inputs->item[i]);
	l.sorted = rc ? NULL : mem_calloc(l.rows.nr + 1, sizeof(*l.sorted));
	if (l.sorted) {
		if (l.rows.nr)
			memcpy(l.sorted, l.rows.items, l.rows.nr * sizeof(*l.sorted));
		order_sort(l.sorted, l.rows.nr, sizeof(*l.sorted), compare);
		rc = put_rows(&l, e);
	} else {
		rc = err_set(e, -ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < l.rows.nr; i++)
		mem_free(((struct row *)dict_at(&l.rows, i))->histogram);
	dict_fini(&l.rows);
	mem_free(l.sorted);
	return rc;
}
