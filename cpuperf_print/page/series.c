/*
 * Counts and misc over the page's time: the lines of the report series.
 */
#include "base/err.h"
#include "base/mem.h"
#include "counts/lines.h"

#include "exports/lanes.h"
#include "exports/lines.h"
#include "page/page.h"
#include "tables.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	NR_POINTS = 200,
	MIN_POINTS = 25,
	MAX_LINES = 400,
	DIGITS = 5,
	MAX_LABEL_BYTES = 16 << 10,
	MAX_NAMES_BYTES = 3000
};
/* Of CPUs, which share MAX_POINTS; of processes, which have no line over time. */
enum { MAX_CPU_LINES = 4096, MAX_POINTS = 100000, MAX_PROCESS_LINES = 2000 };

/* Lines of one kind in the page. */
struct kind {
	const char *name;
	size_t max, nr, nr_left, nr_points;
};
enum { OF_MACHINE, OF_CPU, OF_PROCESS, OF_THING, NR_KINDS };

int page_series_read(struct page *h, struct err *e)
{
	const struct input *o = job_input(h->j);

	export_has_counters(h->j, o);
	return tables_lines(h->j, o, true, page_head_add, h, &h->lines, e);
}

static int read_beside(struct page *h, size_t i, const struct parts_clock *base, struct err *e)
{
	const struct input *o = &h->all->inputs->item[i];
	struct page_beside *b = &h->beside[h->nr_beside];
	struct parts_clock clock;
	struct job j = *h->all;
	int rc = export_lane_read_clock(h->all, i, &clock, e);

	j.first = i;
	j.nr = 1;
	rc = rc ?: tables_lines(&j, o, true, NULL, NULL, &b->lines, e);
	if (rc)
		return rc;
	h->nr_beside++;
	b->path = o->path;
	b->has_samples = o->facts->is_sampling;
	b->shift_ns = (int64_t)(counts_lines_origin_ns(h->lines) + (uint64_t)base->to_starter_ns -
				counts_lines_origin_ns(b->lines) - (uint64_t)clock.to_starter_ns);
	if (!clock.is_known || !base->is_known)
		page_note(h, PAGE_WARNING,
			  "%s: its time of day was not recorded: its times cannot be compared.",
			  o->path);
	else if (-b->shift_ns >= (int64_t)counts_lines_span_ns(h->lines) ||
		 (int64_t)counts_lines_span_ns(b->lines) <= b->shift_ns)
		page_note(h, PAGE_WARNING, "%s lies outside of the time of this page.", o->path);
	return 0;
}

int page_series_read_beside(struct page *h, struct err *e)
{
	const struct job *all = h->all;
	struct parts_clock base;
	int rc;

	if (!all)
		return 0;
	h->beside = mem_calloc(all->nr, sizeof(*h->beside));
	rc = h->beside ? export_lane_read_clock(all, h->base, &base, e) : -ENOMEM;
	for (size_t i = all->first; i < all->first + all->nr && rc == 0; i++)
		if (i != h->base)
			rc = read_beside(h, i, &base, e);
	return rc;
}

/* Sampled events are in the flame graph. */
static bool is_wanted(const struct page *h, const struct counts_line *l)
{
	const struct trace_event ev = {.group = l->of.group, .name = l->of.name};

	return l->has_number && !l->is_samples &&
	       profile_filter_has_event(&h->j->selection->filter, &ev);
}

/* "memory_used", "disk_read of sda"; of another session "PATH: memory_used". */
static void put_label(struct page *h, const struct counts_line *l, const struct page_beside *b)
{
	const char *path = b ? b->path : "", *colon = b ? ": " : "";
	BUF_AUTO(label, MAX_LABEL_BYTES);

	buf_printf(&label, "%s%s%s", path, colon, l->of.label);
	jsonw_text(&h->json, "of", buf_str(&label));
	if (l->thing)
		buf_printf(&label, " of %s", l->thing);
	else if (l->cpu != COUNTS_NO_CPU)
		buf_printf(&label, ", CPU %u", l->cpu);
	jsonw_text(&h->json, "label", buf_str(&label));
}

/* Time per time is a share. */
static const struct {
	const char *name, *per;
	double factor; /* to percent */
} shares[] = {
    {"s", "/s", 1e2}, {"ms", "/s", 1e-1}, {"us", "/s", 1e-4}, {"ns", "/s", 1e-7}, {"s/s", "", 1e2},
};

/* What its numbers are multiplied by. */
static double shown_as(const struct counts_line *l, struct unit *unit)
{
	*unit = l->unit;
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		if (strcmp(unit->name, shares[i].name) == 0 &&
		    strcmp(unit->per, shares[i].per) == 0) {
			*unit = (struct unit){1, "%", ""};
			return shares[i].factor;
		}
	return 1;
}

static unsigned kind_of(const struct counts_line *l)
{
	if (!l->thing)
		return l->cpu == COUNTS_NO_CPU ? OF_MACHINE : OF_CPU;
	return strncmp(l->of.name, "process_", 8) == 0 && strcmp(l->of.group, "misc") == 0
		   ? OF_PROCESS
		   : OF_THING;
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

static void put_values(struct page *h, size_t i, size_t nr, double factor,
		       const struct page_beside *b)
{
	double values[NR_POINTS];

	JSONW_ARRAY(&h->json, "values") {
		if (nr && b)
			counts_lines_shape_at(
			    b->lines, i, (int64_t)counts_lines_start_ns(h->lines) + b->shift_ns,
			    counts_lines_span_ns(h->lines), values, nr);
		else if (nr)
			counts_lines_shape(h->lines, i, values, nr);
		for (size_t k = 0; k < nr; k++)
			page_real(h, NULL, factor * values[k], DIGITS);
	}
}

/* b: the session of the line, if it is another one; NULL: the page's. */
static void put_line(struct page *h, const struct counts_line *l, size_t i, const struct kind *kind,
		     const struct page_beside *b)
{
	struct unit unit;
	double factor = shown_as(l, &unit);

	JSONW_OBJECT(&h->json, NULL) {
		put_label(h, l, b);
		jsonw_text(&h->json, "kind", kind->name);
		if (l->cpu != COUNTS_NO_CPU)
			jsonw_u64(&h->json, "cpu", l->cpu);
		if (l->thing)
			jsonw_text(&h->json, "thing", l->thing);
		jsonw_text(&h->json, "unit", unit.name);
		jsonw_text(&h->json, "per", unit.per);
		put_note(h, l);
		page_real(h, "least", factor * l->min, DIGITS);
		page_real(h, "mean", factor * l->mean, DIGITS);
		page_real(h, "most", factor * l->max, DIGITS);
		if (!isnan(l->limit))
			page_real(h, "limit", factor * l->limit, DIGITS);
		put_values(h, i, kind->nr_points, factor, b);
	}
}

/* Of the machine: with the reason why there is no number. */
static bool is_missing(const struct counts_line *l)
{
	return l->cpu == COUNTS_NO_CPU && !l->thing && !l->has_number && l->of.reason &&
	       *l->of.reason;
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
	if (!l->has_number && l->quality.nr_without && !is_missing(l))
		page_note(h, PAGE_WARNING, "%s has no number: %s.", l->of.label,
			  cell_state_name(l->quality.state));
}

/* A line for each reason. That a machine does not have what it takes says nothing of the numbers
 * that are shown: no warning. */
static void note_missing(struct page *h, const struct counts_lines *lines)
{
	const size_t nr = counts_lines_nr(lines);

	for (size_t i = 0; i < nr; i++) {
		const struct counts_line *first = counts_lines_at(lines, i);
		int kind = PAGE_WARNING;
		BUF_AUTO(names, MAX_NAMES_BYTES);

		for (size_t k = 0; is_missing(first) && k < nr; k++) {
			const struct counts_line *l = counts_lines_at(lines, k);

			if (!is_missing(l) || strcmp(l->of.reason, first->of.reason) != 0)
				continue;
			if (l->quality.state == CELL_NOT_SUPPORTED)
				kind = PAGE_NOTE;
			buf_printf(&names, "%s%s", names.len ? ", " : "", l->of.label);
		}
		if (names.len)
			page_note(h, kind, "Not measured: %s (%s).", buf_str(&names),
				  first->of.reason);
	}
}

/* Many CPUs have fewer points each. */
static size_t points_of_cpus(const struct page *h)
{
	size_t nr = 0, points;

	for (size_t i = 0; i < counts_lines_nr(h->lines); i++) {
		const struct counts_line *l = counts_lines_at(h->lines, i);

		nr += kind_of(l) == OF_CPU && is_wanted(h, l);
	}
	points = nr ? MAX_POINTS / nr : NR_POINTS;
	return points > NR_POINTS ? NR_POINTS : points < MIN_POINTS ? MIN_POINTS : points;
}

static int put_lines(struct page *h, struct kind *kinds, const struct page_beside *b, struct err *e)
{
	const struct counts_lines *lines = b ? b->lines : h->lines;
	int rc = 0;

	note_missing(h, lines);
	for (size_t i = 0; i < counts_lines_nr(lines) && rc == 0; i++) {
		const struct counts_line *l = counts_lines_at(lines, i);
		struct kind *kind = &kinds[kind_of(l)];

		note_problems(h, l);
		if (!is_wanted(h, l))
			continue;
		if (kind->nr++ < kind->max)
			put_line(h, l, i, kind, b);
		else
			kind->nr_left++;
		rc = page_flush(h, e);
	}
	return rc;
}

int page_series_put(struct page *h, struct err *e)
{
	struct kind kinds[NR_KINDS] = {
	    [OF_MACHINE] = {"machine", MAX_LINES, .nr_points = NR_POINTS},
	    [OF_CPU] = {"cpu", MAX_CPU_LINES, .nr_points = points_of_cpus(h)},
	    [OF_PROCESS] = {"process", MAX_PROCESS_LINES, .nr_points = 0},
	    [OF_THING] = {"thing", MAX_LINES, .nr_points = NR_POINTS},
	};
	size_t nr_left = counts_lines_nr_skipped(h->lines);
	int rc = 0;

	jsonw_u64(&h->json, "series_start_ns", counts_lines_start_ns(h->lines));
	jsonw_u64(&h->json, "series_span_ns", counts_lines_span_ns(h->lines));
	JSONW_ARRAY(&h->json, "series") {
		rc = put_lines(h, kinds, NULL, e);
		for (size_t i = 0; i < h->nr_beside && rc == 0; i++)
			rc = put_lines(h, kinds, &h->beside[i], e);
	}
	for (size_t i = 0; i < NR_KINDS; i++)
		nr_left += kinds[i].nr_left;
	for (size_t i = 0; i < h->nr_beside; i++)
		nr_left += counts_lines_nr_skipped(h->beside[i].lines);
	if (nr_left)
		page_note(h, PAGE_NOTE, "%zu more rows of counts and misc are omitted.", nr_left);
	for (size_t i = 0; i < h->nr_beside; i++) {
		page_note(h, PAGE_NOTE,
			  "%s: its counts are at the times where they were, as far as these lie "
			  "within the session above.",
			  h->beside[i].path);
		if (h->beside[i].has_samples)
			page_note(h, PAGE_WARNING, "%s: its samples are not in this page.",
				  h->beside[i].path);
	}
	if (h->j->nr > 1)
		page_note(h, PAGE_NOTE,
			  "Counts and misc are those of the first session; samples "
			  "are added up, each session from its own start.");
	return rc;
}
