/*
 * Latencies of the page: the histograms of all sessions of a side, by what they are of.
 */
#include "counts/latency.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "page/page.h"
#include "profile/iterator.h"
#include "screen/latency.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* What each event and part has beside its sum, and all together. */
enum { MAX_WHATS = 20, MAX_ROWS = 400, DIGITS = 6 };

static bool has_latencies(const struct profile_facts *f)
{
	return ARRAY_ANY(ev, f->events, f->nr_events, strcmp(ev->group, "latency") == 0);
}

static int add_trace(struct page *h, unsigned side, const struct profile_filter *filter,
		     const struct profile_trace *t)
{
	int rc = 0;

	if (!profile_ranges_has(&filter->iterations, t->head.iteration))
		return 0;
	for (size_t i = 0; i < t->nr_histograms && rc == 0; i++)
		if (profile_filter_has_event(filter, &t->events[t->histograms[i].event]))
			rc = counts_latency_add(&h->latencies[side], &t->histograms[i], true);
	return rc;
}

int page_latency_read(struct page *h, struct err *e)
{
	const struct inputs *in = h->j->inputs;
	int rc = 0;

	for (size_t i = 0; i < in->nr + in->nr_diff && rc == 0; i++) {
		const struct input *o = &in->item[i];
		struct profile_iterator *it;
		struct profile_trace trace;

		if (o->import || !has_latencies(o->facts))
			continue;
		it = profile_iterator_new(o->session);
		while (rc == 0 && (rc = profile_iterator_next(it, &trace)) == 1)
			rc = add_trace(h, i < in->nr ? PAGE_NOW : PAGE_BEFORE, job_filter(h->j, o),
				       &trace);
		profile_iterator_free(it);
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
