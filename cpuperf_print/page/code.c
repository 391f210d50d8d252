/*
 * The code of the functions with the most samples of their own: lines of the source and
 * instructions, those near samples. Of one session, and as much as a page may have.
 */
#include "annotate/source.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "page/page.h"
#include "reports/annotated.h"
#include "reports/reports.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_FUNCTIONS = 30,
	MAX_BYTES = 4 << 20,
	MAX_ROWS = 2000, /* of a function and kind */
	CONTEXT = 3,     /* rows beside one with samples */
	SMALL = 40,      /* as many rows are shown whole */
};
static const uint64_t max_ns = 1000000000; /* of CPU; then no further function is begun */

struct code {
	struct page *h;
	struct annotated of;
	size_t nr, nr_all; /* functions in the page, and with samples */
	uint64_t start_ns, nr_bytes;
};

typedef const struct report_weight *weight_fn(const struct annotated *a, size_t i);

static const struct report_weight *weight_of_line(const struct annotated *a, size_t i)
{
	return &a->line[i].weight;
}

static bool has_samples(const struct code *c, size_t i, weight_fn *weight)
{
	const struct report_weight *w = weight(&c->of, i);

	return w && w->samples;
}

/* Whether a row of [first, end) is one with samples, or beside one. */
static bool is_shown(const struct code *c, size_t i, size_t first, size_t end, weight_fn *weight)
{
	if (end - first <= SMALL)
		return true;
	for (size_t at = i - first > CONTEXT ? i - CONTEXT : first; at <= i + CONTEXT && at < end;
	     at++)
		if (has_samples(c, at, weight))
			return true;
	return false;
}

/* Of the function's samples: their number, and the interval of their share, in percent. */
static void put_weight(const struct code *c, const struct report_weight *w)
{
	const struct interval share = reports_share_of(w, &c->of.f->weight);

	jsonw_u64(&c->h->json, "self_samples", w->samples);
	page_real(c->h, "self", 100 * share.share, 6);
	page_real(c->h, "self_low", 100 * share.low, 6);
	page_real(c->h, "self_high", 100 * share.high, 6);
}

/* As text: a browser's numbers have 53 bits. */
static void put_address(const struct code *c, const char *key, uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	jsonw_text(&c->h->json, key, text);
}

/* Its keys are those of report annotate. What many rows share is omitted: null, 0 and the like. */
static void put_instruction(struct code *c, size_t i)
{
	const struct annotate_row *row = &c->of.code.row[i];
	const struct report_weight *w = annotated_weight(&c->of, i);
	struct json_writer *json = &c->h->json;

	JSONW_OBJECT(json, NULL) {
		if (w)
			put_weight(c, w);
		put_address(c, "address", row->address);
		if (row->nr_from)
			jsonw_u64(json, "jumps", row->nr_from);
		if (row->has_target && row->is_inside)
			put_address(c, "target", row->target);
		if (row->at.line)
			jsonw_u64(json, "line", row->at.line);
		jsonw_text(json, "text", row->text);
		jsonw_text(json, "inlined", row->inlined);
	}
}

static void put_line(struct code *c, size_t i)
{
	const struct annotated_line *line = &c->of.line[i];
	const struct annotate_source *source =
	    line->file ? annotated_source(&c->of, line->file) : NULL;
	struct json_writer *json = &c->h->json;
	char text[ANNOTATE_MAX_LINE_BYTES];

	JSONW_OBJECT(json, NULL) {
		if (line->weight.samples)
			put_weight(c, &line->weight);
		if (line->line)
			jsonw_u64(json, "line", line->line);
		if (source)
			jsonw_text(json, "text", annotate_source_line(source, line->line, text));
		jsonw_text(json, "file", line->file);
		jsonw_text(json, "inlined", line->inlined);
	}
}

/* Rows of [first, end); between them how many are omitted. Returns how many more there may be. */
static size_t put_rows(struct code *c, size_t first, size_t end, size_t left, weight_fn *weight,
		       void (*put)(struct code *c, size_t i))
{
	size_t nr_hidden = 0;

	for (size_t i = first; i < end; i++) {
		const bool is_it = left && is_shown(c, i, first, end, weight);

		if (is_it && nr_hidden)
			jsonw_u64(&c->h->json, NULL, nr_hidden);
		nr_hidden = is_it ? 0 : nr_hidden + 1;
		left -= is_it;
		if (is_it)
			put(c, i);
	}
	if (nr_hidden)
		jsonw_u64(&c->h->json, NULL, nr_hidden);
	return left;
}

static void put_all_lines(struct code *c)
{
	size_t left = MAX_ROWS;

	JSONW_ARRAY(&c->h->json, "lines") {
		for (size_t i = 0; i < c->of.nr_groups; i++)
			left = put_rows(c, c->of.group[i].first, c->of.group[i].end, left,
					weight_of_line, put_line);
	}
}

static int put_function(struct code *c, const struct report_address_function *f, struct err *e)
{
	const struct trace_event *ev = job_event(c->h->j, f->event);
	struct json_writer *json = &c->h->json;
	struct err missing = {0};
	int rc;

	c->of.f = f;
	rc = annotated_load(&c->of, &missing) ?: annotated_make_lines(&c->of);
	if (rc)
		return err_set(e, rc, "code cannot be read: %s", strerror(-rc));
	JSONW_OBJECT(json, NULL) {
		jsonw_u64(json, "event", f->event);
		jsonw_text(json, "function", f->function->name);
		jsonw_text(json, "object", f->function->object);
		jsonw_u64(json, "samples", f->weight.samples);
		jsonw_text(json, "skid", annotated_skid(ev)->note);
		jsonw_text(json, "missing", missing.code ? missing.msg : NULL);
		put_all_lines(c);
		JSONW_ARRAY(json, "instructions") {
			put_rows(c, 0, c->of.code.nr, MAX_ROWS, annotated_weight, put_instruction);
		}
	}
	c->nr++;
	c->nr_bytes += c->h->data.len;
	return page_flush(c->h, e);
}

static bool may_go_on(const struct code *c)
{
	return c->nr < MAX_FUNCTIONS && c->nr_bytes < MAX_BYTES &&
	       clock_thread_cpu_ns() - c->start_ns < max_ns;
}

/* Of each event the first, then the second one …: none of many samples leaves others without. */
static int put_functions(struct code *c, struct err *e)
{
	const struct report_address_function *f = c->of.function;
	size_t nr_at = 1, rank = 0;
	int rc = 0;

	for (size_t first = 0; nr_at && may_go_on(c) && rc == 0; rank++) {
		nr_at = first = 0;
		for (size_t i = 0; i < c->of.nr_functions && may_go_on(c) && rc == 0; i++) {
			first = i && f[i].event == f[i - 1].event ? first : i;
			if (i - first != rank)
				continue;
			nr_at++;
			rc = put_function(c, &f[i], e);
		}
	}
	return rc;
}

/* True if samples of one session have addresses to show. */
static bool has_code(const struct page *h)
{
	return h->has_samples && h->j->nr == 1;
}

static int put(struct code *c, struct err *e)
{
	int rc = annotated_read(&c->of, c->h->j, e);

	if (rc)
		return rc;
	c->start_ns = clock_thread_cpu_ns();
	c->of.is_to_be_read = true;
	JSONW_ARRAY(&c->h->json, "code") {
		rc = put_functions(c, e);
	}
	return rc;
}

int page_code_put(struct page *h, struct err *e)
{
	struct code c = {.h = h};
	int rc = 0;

	if (has_code(h))
		rc = put(&c, e);
	annotated_fini(&c.of);
	jsonw_u64(&h->json, "code_functions", c.nr);
	jsonw_u64(&h->json, "code_sessions", h->j->nr);
	return rc ?: page_flush(h, e);
}
