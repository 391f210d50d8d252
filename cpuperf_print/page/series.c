/*
 * Counts and misc over the page's time: the lines of the report series.
 */
#include "base/err.h"
#include "counts/lines.h"
#include "exports/lines.h"
#include "page/page.h"
#include "tables.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NR_POINTS = 200, FEW_CPUS = 8, MAX_LINES = 400, DIGITS = 5 };

int page_series_read(struct page *h, struct err *e)
{
	const struct input *o = job_input(h->j);

	export_has_counters(h->j, o);
	return tables_lines(h->j, o, o->facts->nr_traces <= FEW_CPUS, page_head_add, h, &h->lines,
			    e);
}

/* Sampled events are in the flame graph. */
static bool is_wanted(const struct page *h, const struct counts_line *l)
{
	const struct trace_event ev = {.group = l->of.group, .name = l->of.name};

	return l->has_number && !l->is_samples &&
	       profile_filter_has_event(&h->j->selection->filter, &ev);
}

static void put_label(struct page *h, const struct counts_line *l)
{
	char label[512];

	if (l->thing)
		snprintf(label, sizeof(label), "%s of %s", l->of.label, l->thing);
	else if (l->cpu != COUNTS_NO_CPU)
		snprintf(label, sizeof(label), "%s, CPU %u", l->of.label, l->cpu);
	else
		snprintf(label, sizeof(label), "%s", l->of.label);
	jsonw_text(&h->json, "label", label);
}

static void put_value(struct page *h, const char *key, double v)
{
	page_real(h, key, v, DIGITS);
}

static void put_note(struct page *h, const struct counts_line *l)
{
	char note[256] = "", state[CELL_STATE_BYTES];

	if (l->quality.running < 1)
		snprintf(note, sizeof(note),
			 "multiplexed: ran %.0f %% of the time at least, scaled",
			 100 * l->quality.running);
	else if (cell_is_short(&l->quality.least))
		snprintf(note, sizeof(note), "%s", cell_state_text(&l->quality.least, state));
	jsonw_text(&h->json, "note", note);
}

static void put_line(struct page *h, size_t i)
{
	const struct counts_line *l = counts_lines_at(h->lines, i);
	double values[NR_POINTS];

	JSONW_OBJECT(&h->json, NULL) {
		put_label(h, l);
		jsonw_text(&h->json, "unit", l->unit.name);
		jsonw_text(&h->json, "per", l->unit.per);
		put_note(h, l);
		jsonw_key(&h->json, "main");
		buf_adds(&h->data, !l->thing && l->cpu == COUNTS_NO_CPU ? "true" : "false");
		put_value(h, "least", l->min);
		put_value(h, "mean", l->mean);
		put_value(h, "most", l->max);
		JSONW_ARRAY(&h->json, "values") {
			counts_lines_shape(h->lines, i, values, NR_POINTS);
			for (size_t k = 0; k < NR_POINTS; k++) {
				page_real(h, NULL, values[k], DIGITS);
			}
		}
	}
}

static void note_problems(struct page *h, const struct counts_line *l)
{
	char state[CELL_STATE_BYTES];

	if (l->cpu != COUNTS_NO_CPU || l->thing)
		return;
	if (cell_is_short(&l->quality.least))
		page_note(h, PAGE_WARNING, "%s lacks something: %s.", l->of.label,
			  cell_state_text(&l->quality.least, state));
	if (l->has_number && l->quality.running < 1)
		page_note(
		    h, PAGE_WARNING,
		    "%s ran %.0f %% of the time at least (multiplexed): its numbers are scaled.",
		    l->of.label, 100 * l->quality.running);
	if (!l->has_number && l->of.reason && *l->of.reason)
		page_note(h, PAGE_WARNING, "%s was not measured: %s%s%s.", l->of.label,
			  l->of.missing ? l->of.missing : "", l->of.missing ? ": " : "",
			  l->of.reason);
	else if (!l->has_number && l->quality.nr_without)
		page_note(h, PAGE_WARNING, "%s has no number: %s.", l->of.label,
			  cell_state_name(l->quality.state));
}

int page_series_put(struct page *h, struct err *e)
{
	size_t nr = 0, nr_left = 0;
	int rc = 0;

	jsonw_u64(&h->json, "series_start_ns", counts_lines_start_ns(h->lines));
	jsonw_u64(&h->json, "series_span_ns", counts_lines_span_ns(h->lines));
	JSONW_ARRAY(&h->json, "series") {
		for (size_t i = 0; i < counts_lines_nr(h->lines) && rc == 0; i++) {
			note_problems(h, counts_lines_at(h->lines, i));
			if (!is_wanted(h, counts_lines_at(h->lines, i)))
				continue;
			if (nr++ < MAX_LINES)
				put_line(h, i);
			else
				nr_left++;
			rc = page_flush(h, e);
		}
	}
	nr_left += counts_lines_nr_skipped(h->lines);
	if (nr_left)
		page_note(h, PAGE_NOTE, "%zu more rows of counts and misc are omitted.", nr_left);
	if (h->j->nr > 1)
		page_note(h, PAGE_NOTE,
			  "Counts and misc are those of the first session; samples "
			  "are added up, each session from its own start.");
	return rc;
}
