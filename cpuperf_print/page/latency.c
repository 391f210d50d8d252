/*
 * Latencies of the page: the histograms of all sessions of a side, by what they are of; and those
 * of the calls of functions.
 */
#include "counts/latency.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "counts/functions.h"
#include "elf/demangle.h"
#include "page/page.h"
#include "reports/reports.h"
#include "screen/latency.h"
#include "trace/reader.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* What each event and part has beside its sum, and all together. */
enum { MAX_WHATS = 20, MAX_ROWS = 400, DIGITS = 6 };

static bool has_latencies(const struct profile_facts *f)
{
	return ARRAY_ANY(ev, f->events, f->nr_events, strcmp(ev->group, "latency") == 0) ||
	       reports_has_functions(f);
}

/* --- functions: the calls of one are what an event is of ------------------------------------- */

static int by_event_and_time(const void *a, const void *b)
{
	const struct counts_function *x = *(const struct counts_function *const *)a;
	const struct counts_function *y = *(const struct counts_function *const *)b;

	return order_u64(x->event, y->event) ?: order_u64(y->wall_ns, x->wall_ns);
}

/* name: "": all of the event. 0 or -ENOMEM. */
static int add_times(struct page *h, unsigned side, const struct counts_function *f,
		     const char *name)
{
	struct histogram *to = latencies_get(&h->latencies[side], f->event, "", name);

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < f->nr; i++)
		histogram_add(to, f->bucket[i].number, f->bucket[i].count);
	to->sum_ns += f->wall_ns;
	to->max_ns = f->max_ns > to->max_ns ? f->max_ns : to->max_ns;
	return 0;
}

/* Histograms of many functions are large: of those before, only the ones that are there now. */
static bool is_shown(const struct page *h, unsigned side, const struct counts_function *f,
		     const char *name, size_t nr_of_event)
{
	return side == PAGE_NOW
		   ? nr_of_event <= MAX_WHATS
		   : latencies_find(&h->latencies[PAGE_NOW], f->event, "", name) != NULL;
}

/* Of each event those with the most time. 0 or -ENOMEM. */
static int add_functions(struct page *h, unsigned side, const struct counts_functions *l)
{
	MEM_AUTO struct counts_function **rows = dict_pointers(&l->rows);
	char name[ELF_MAX_NAME_BYTES];
	size_t nr = 0;
	int rc = rows ? 0 : -ENOMEM;

	if (rows)
		order_sort(rows, l->rows.nr, sizeof(*rows), by_event_and_time);
	for (size_t i = 0; i < l->rows.nr && rc == 0; i++) {
		const struct counts_function *f = rows[i];

		if (!f->has_times || !f->timed)
			continue;
		nr = i && rows[i - 1]->event == f->event ? nr + 1 : 1;
		elf_demangle(counts_function_name(l, f), name);
		rc = add_times(h, side, f, "");
		if (rc == 0 && is_shown(h, side, f, name, nr))
			rc = add_times(h, side, f, name);
	}
	return rc;
}

/* What the sessions of a side have. */
struct read {
	struct counts_functions functions;
	struct latencies *latencies;
	const struct profile_filter *filter; /* of the session that is read */
};

static int add_trace(void *read, const struct profile_trace *t)
{
	struct read *r = read;
	int rc = 0;

	for (size_t i = 0; i < t->nr_functions && rc == 0; i++) {
		const struct trace_function *f = &t->functions[i].function;

		if (profile_filter_has_event(r->filter, &t->events[f->event]))
			rc = counts_functions_add(&r->functions, f);
	}
	for (size_t i = 0; i < t->nr_histograms && rc == 0; i++)
		if (profile_filter_has_event(r->filter, &t->events[t->histograms[i].event]))
			rc = counts_latency_add(r->latencies, &t->histograms[i], true);
	return rc;
}

int page_latency_read(struct page *h, struct err *e)
{
	struct read sides[PAGE_NR_SIDES] = {{.filter = NULL}};
	const struct inputs *in = h->j->inputs;
	int rc = 0;

	for (size_t i = 0; i < in->nr + in->nr_diff && rc == 0; i++) {
		const unsigned side = i < in->nr ? PAGE_NOW : PAGE_BEFORE;
		const struct input *o = &in->item[i];

		if (o->import || !has_latencies(o->facts))
			continue;
		sides[side].latencies = &h->latencies[side];
		sides[side].filter = job_filter(h->j, o);
		rc = reports_each_trace(h->j, o, add_trace, &sides[side]);
	}
	for (unsigned side = 0; side < PAGE_NR_SIDES; side++) {
		rc = rc ?: add_functions(h, side, &sides[side].functions);
		counts_functions_fini(&sides[side].functions);
	}
	return rc ? err_set(e, rc, "the latencies cannot be read: %s", strerror(-rc)) : 0;
}

/* number, number with an interval: [ns, low, high]; null: it has no bound */
static void put_quantiles(struct page *h, const struct histogram *of)
{
	JSONW_ARRAY(&h->json, "quantiles") {
		for (size_t i = 0; i < SCREEN_LATENCY_NR; i++) {
			struct histogram_quantile q =
			    histogram_quantile(of, screen_latency_quantiles[i].quantile);

			JSONW_ARRAY(&h->json, NULL) {
				jsonw_text(&h->json, NULL, screen_latency_quantiles[i].name);
				page_real(h, NULL, q.ns, DIGITS);
				page_real(h, NULL, q.low_ns, DIGITS);
				page_real(h, NULL, q.high_ns, DIGITS);
			}
		}
	}
}

static void put_histogram(struct page *h, const char *key, const struct histogram *of)
{
	JSONW_OBJECT(&h->json, key) {
		jsonw_u64(&h->json, "count", of->count);
		page_real(h, "mean", histogram_mean(of), DIGITS);
		jsonw_u64(&h->json, "max", of->max_ns);
		put_quantiles(h, of);
		JSONW_ARRAY(&h->json, "buckets") {
			for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
				if (!of->bucket[i])
					continue;
				jsonw_u64(&h->json, NULL, histogram_low(i));
				jsonw_u64(&h->json, NULL, histogram_low(i + 1));
				jsonw_u64(&h->json, NULL, of->bucket[i]);
			}
		}
	}
}

static void put_row(struct page *h, const struct latencies_row *row)
{
	const struct histogram *before =
	    latencies_find(&h->latencies[PAGE_BEFORE], row->event, row->part, row->what);

	JSONW_OBJECT(&h->json, NULL) {
		jsonw_text(&h->json, "label", job_event(h->j, row->event)->label);
		jsonw_text(&h->json, "part", row->part);
		jsonw_text(&h->json, "what", row->what);
		put_histogram(h, "now", row->histogram);
		if (before)
			put_histogram(h, "before", before);
	}
}

int page_latency_put(struct page *h, struct err *e)
{
	MEM_AUTO struct latencies_row *rows = latencies_sorted(&h->latencies[PAGE_NOW]);
	size_t nr = 0, nr_whats = 0, nr_left = 0;
	int rc = 0;

	if (!rows)
		return err_set(e, -ENOMEM, "out of memory");
	JSONW_ARRAY(&h->json, "latencies") {
		for (uint32_t i = 0; i < h->latencies[PAGE_NOW].rows.nr && rc == 0; i++) {
			nr_whats = rows[i].what[0] ? nr_whats + 1 : 0;
			if (nr_whats > MAX_WHATS || nr == MAX_ROWS) {
				nr_left++;
				continue;
			}
			nr++;
			put_row(h, &rows[i]);
			rc = page_flush(h, e);
		}
	}
	if (nr_left)
		page_note(h, PAGE_NOTE, "%zu more rows of latencies are omitted.", nr_left);
	return rc;
}
