/*
 * Writes the samples of the page: events, threads, functions, stacks and counts.
 */
#include "report/stacks.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "export/digits.h"
#include "page/encode.h"
#include "report/functions.h"
#include "report/own.h"
#include "reports/reports.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The fewest samples of a frame that is not merged, by --min-percent. */
static uint64_t least_samples(const struct page *h)
{
	double share = h->j->selection->min_percent > 0 ? h->j->selection->min_percent / 100 : 0;
	uint64_t all = 0;

	for (size_t i = 0; i < h->stats[PAGE_NOW].nr_events; i++)
		all += h->stats[PAGE_NOW].event[i].counted.samples;
	return (uint64_t)(share * (double)all);
}

static void note_coarser(struct page *h, uint64_t min_samples)
{
	if (report_slices_doubled(h->slices))
		page_note(h, PAGE_NOTE,
			  "Too much data for a page: time slices are %u times longer than usual.",
			  1u << report_slices_doubled(h->slices));
	if (h->outline.nr_merged)
		page_note(h, PAGE_NOTE,
			  "%zu frames of fewer than %" PRIu64
			  " samples are merged into [merged], in their callers: totals of small "
			  "functions are too low.",
			  h->outline.nr_merged, min_samples);
	if (report_stacks_is_full(h->stacks))
		page_note(h, PAGE_WARNING, "Too many stacks: some are truncated.");
	if (h->has_several)
		page_note(h, PAGE_NOTE, "Too many threads: some are distinguished by name only.");
}

static void put_buf(struct page *h, const char *key, const struct buf *b)
{
	jsonw_key(&h->json, key);
	buf_addc(&h->data, '"');
	buf_add(&h->data, b->data, b->len);
	buf_addc(&h->data, '"');
}

/* Texts of the report that the page uses, numbered in the order of first use. */
struct texts {
	uint32_t *number; /* owned; by the report's number; UINT32_MAX: none yet */
	uint32_t nr;
};

static uint32_t text_number(struct page *h, struct texts *t, uint32_t text)
{
	if (t->number[text] == UINT32_MAX) {
		t->number[text] = t->nr++;
		jsonw_text(&h->json, NULL, report_functions_text(h->j->inputs->functions, text));
	}
	return t->number[text];
}

static int texts_init(struct page *h, struct texts *t)
{
	size_t nr = report_functions_nr_texts(h->j->inputs->functions);

	*t = (struct texts){.nr = 0};
	t->number = mem_alloc((nr + 1) * sizeof(*t->number));
	if (!t->number)
		return -ENOMEM;
	memset(t->number, 0xff, (nr + 1) * sizeof(*t->number));
	return 0;
}

static int put_threads(struct page *h)
{
	struct texts comms;
	BUF_AUTO(list, PAGE_MAX_ENCODED_BYTES);
	int rc = texts_init(h, &comms);

	if (rc)
		return rc;
	JSONW_ARRAY(&h->json, "comms") {
		for (uint32_t i = 0; i < h->threads.nr; i++) {
			const struct page_thread *t = dict_at(&h->threads, i);

			export_digits_add(&list, text_number(h, &comms, t->comm));
			export_digits_add(&list, t->pid);
			export_digits_add(&list, t->tid);
			export_digits_add(&list, t->thread);
			export_digits_add(&list, t->host);
		}
	}
	put_buf(h, "threads", &list);
	buf_reset(&list);
	for (uint32_t i = 0; i < h->groups.nr; i++) {
		const struct page_group *g = dict_at(&h->groups, i);

		export_digits_add(&list, g->side);
		export_digits_add(&list, g->event);
		export_digits_add(&list, g->thread);
		export_digits_add(&list, g->region);
	}
	put_buf(h, "groups", &list);
	rc = buf_error(&list);
	mem_free(comms.number);
	return rc;
}

static int put_functions(struct page *h, const struct page_numbers *n, struct err *e)
{
	struct texts objects;
	BUF_AUTO(list, PAGE_MAX_ENCODED_BYTES);
	int rc = texts_init(h, &objects);

	if (rc)
		return rc;
	JSONW_ARRAY(&h->json, "objects") {
		for (size_t i = 0; i < n->nr_functions; i++)
			export_digits_add(
			    &list,
			    2 * (uint64_t)text_number(h, &objects, n->functions[i]->object_number) +
				n->functions[i]->is_kernel);
	}
	put_buf(h, "functions", &list);
	JSONW_ARRAY(&h->json, "names") {
		for (size_t i = 0; i < n->nr_functions && rc == 0; i++) {
			jsonw_text(&h->json, NULL, n->functions[i]->name);
			rc = page_flush(h, e);
		}
	}
	buf_reset(&list);
	for (size_t i = 0; i < n->nr_functions; i++)
		export_digits_add(&list, report_own_rank(n->functions[i]));
	put_buf(h, "ranks", &list);
	rc = rc ? rc : buf_error(&list);
	mem_free(objects.number);
	return rc;
}

/* No sample of the event was left to chance. */
static bool is_exact(const struct page *h, uint32_t event)
{
	uint64_t samples = 0, random = 0;

	for (unsigned side = 0; side < h->nr_sides; side++) {
		const struct report_event_stats *s = h->stats[side].event;

		samples += s ? s[event].counted.samples : 0;
		random += s ? s[event].counted.random : 0;
	}
	return samples && !random;
}

/* Among its samples are parts of the time without one, by records of switches: their row has none.
 * Where states are added up each record counts. */
static bool has_made(const struct page *h, uint32_t event)
{
	if (samples_are_of_states(h->j, event))
		return false;
	return ARRAY_ANY(s, h->stats, h->nr_sides, s->event && s->event[event].unsampled_ns);
}

static void put_event(struct page *h, const struct page_encoded *from, uint32_t i)
{
	const struct trace_event *ev = job_event(h->j, i);

	JSONW_OBJECT(&h->json, NULL) {
		jsonw_text(&h->json, "label", ev->label);
		jsonw_text(&h->json, "unit", ev->unit);
		page_real(h, "scale", ev->scale > 0 ? ev->scale : 1, 17);
		jsonw_u64(&h->json, "period", from->period ? from->period[i] : 0);
		page_real(h, "squares", from->squares ? from->squares[i] : 0, 6);
		jsonw_u64(&h->json, "exact", is_exact(h, i));
		jsonw_u64(&h->json, "made", has_made(h, i));
		jsonw_u64(&h->json, "in_program", strcmp(ev->group, "heap") == 0);
		JSONW_ARRAY(&h->json, "samples") {
			for (unsigned side = 0; side < h->nr_sides; side++) {
				const struct report_event_stats *s = h->stats[side].event;

				jsonw_u64(
				    &h->json, NULL,
				    s ? reports_nr_samples(h->j, &h->stats[side], i, &s[i].counted)
				      : 0);
			}
		}
	}
}

static void put_events(struct page *h, const struct page_encoded *from)
{
	JSONW_ARRAY(&h->json, "events") {
		for (uint32_t i = 0; i < h->facts->nr_events; i++) {
			put_event(h, from, i);
		}
	}
}

static void put_time(struct page *h, const struct page_encoded *from)
{
	uint64_t slice_ns = h->slice_ns << (h->slices ? report_slices_doubled(h->slices) : 0);

	jsonw_u64(&h->json, "start_ns", from->first * slice_ns);
	jsonw_u64(&h->json, "slice_ns", slice_ns);
	jsonw_u64(&h->json, "nr_slices", from->nr_slices);
}

static int put_samples(struct page *h, struct page_numbers *n, struct page_encoded *from,
		       struct err *e)
{
	int rc;

	put_time(h, from);
	put_events(h, from);
	rc = put_threads(h) ?: put_functions(h, n, e);
	if (rc == 0 && h->nr_sides > 1)
		page_change_put(h, n->function, n->nr_all);
	jsonw_u64(&h->json, "nr_nodes", h->outline.nr + 1);
	jsonw_u64(&h->json, "nr_cells", h->outline.nr_counts);
	put_buf(h, "tree", &from->tree);
	put_buf(h, "cells", &from->cells);
	return rc ?: page_flush(h, e);
}

/* Writes the empty tree of a session that only counts. */
static int put_none(struct page *h)
{
	struct page_encoded none;

	page_encoded_init(&none);
	export_digits_add(&none.cells, 0);
	page_encode_slices(h, &none);
	put_time(h, &none);
	put_events(h, &none);
	jsonw_u64(&h->json, "nr_nodes", 1);
	jsonw_u64(&h->json, "nr_cells", 0);
	buf_adds(&h->data,
		 ",\"comms\":[],\"threads\":\"\",\"groups\":\"\",\"objects\":[],"
		 "\"functions\":\"\",\"ranks\":\"\",\"names\":[],\"tree\":\"\",\"cells\":\"A\"");
	page_encoded_fini(&none);
	return 0;
}

int page_samples_put(struct page *h, struct err *e)
{
	uint64_t min_samples;
	struct page_numbers n;
	struct page_encoded made;
	int rc;

	if (!h->has_samples)
		return put_none(h);
	min_samples = least_samples(h);
	rc = page_encode(h, &n, &made, &min_samples);
	if (rc == 0) {
		note_coarser(h, min_samples);
		rc = put_samples(h, &n, &made, e);
	}
	page_numbers_fini(&n);
	page_encoded_fini(&made);
	return rc;
}
