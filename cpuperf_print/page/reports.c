/*
 * Reports of the page that are tables, as ndjson has them: of all that the page shows. A page that
 * is served asks for them when they are looked at, of what is selected then.
 */
#include "base/err.h"
#include "base/json_writer.h"
#include "base/mem.h"
#include "navigator/facts.h"
#include "page/page.h"
#include "pool.h"
#include "registry.h"
#include "row.h"

#include <errno.h>
#include <string.h>

enum {
	MAX_ROWS = 200,
	MAX_REPORT_BYTES = 2 << 20,
	MAX_COLUMNS_BYTES = 64 << 10,
	MAX_POOL_BYTES = 256 << 20
};

/* What is lost is stated by who reads the page's own samples. */
static void ignore(void *arg, const struct err *problem)
{
	(void)arg;
	(void)problem;
}

/* The summary also has each iteration, and each CPU: its sums are what the page shows. */
static bool is_shown(const char *name, const char *line, size_t len)
{
	static const char sum[] = "\"summary\":true";

	return strcmp(name, "summary") != 0 || memmem(line, len, sum, sizeof(sum) - 1);
}

static void put_rows(struct page *h, const char *name, const struct buf *text)
{
	const char *at = buf_str(text), *end = at + text->len, *stop;

	JSONW_ARRAY(&h->json, "rows") {
		for (; at < end && (stop = memchr(at, '\n', (size_t)(end - at))); at = stop + 1) {
			BUF_AUTO(line, MAX_REPORT_BYTES);

			if (!is_shown(name, at, (size_t)(stop - at)))
				continue;
			buf_add(&line, at, (size_t)(stop - at));
			jsonw_raw(&h->json, NULL, buf_str(&line));
		}
	}
}

static void put_report(struct page *h, const char *name, const struct output *out)
{
	if (!out->text.len)
		return;
	JSONW_OBJECT(&h->json, NULL) {
		jsonw_text(&h->json, "name", name);
		jsonw_raw(&h->json, "columns", out->about->len ? buf_str(out->about) : "[]");
		put_rows(h, name, &out->text);
	}
}

struct printing {
	struct selection selection;
	struct output output;
	struct err e;
	struct buf columns;
};

static int print_one(struct page *h, const struct registry_row *row,
		     const struct registry_row *format, struct printing *p)
{
	struct inputs *in = h->j->inputs;
	const struct row_run run = {.inputs = in, .selection = &p->selection, .output = &p->output};
	int rc = selection_init(&p->selection, in->options, &p->e);

	if (rc)
		return rc;
	if (p->selection.top == UINT64_MAX)
		p->selection.top = MAX_ROWS;
	row_choose_states(&p->selection, in, row, format, false);
	inputs_forget_states(in);
	return row_print(&run, row, &p->e) ?: buf_error(&p->output.text);
}

/* Of what cannot be printed there is no report. */
static int put_one(struct page *h, const char *name, struct err *e)
{
	const struct registry_row *row = registry_find_report(name, e),
				  *format = registry_find_format("ndjson", e);
	struct printing *p = mem_zalloc(sizeof(*p));
	int rc;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	buf_init(&p->columns, MAX_COLUMNS_BYTES);
	output_init(&p->output, format, h->j->inputs->options);
	p->output.is_held = true;
	p->output.width = 0;
	p->output.text.max_bytes = MAX_REPORT_BYTES;
	p->output.about = &p->columns;
	p->output.problems.report = ignore;
	rc = print_one(h, row, format, p);
	if (rc == 0)
		put_report(h, name, &p->output);
	selection_fini(&p->selection);
	output_fini(&p->output);
	buf_fini(&p->columns);
	mem_free(p);
	return rc == -ENOMEM || rc == -ECANCELED ? err_set(e, rc, "%s", strerror(-rc)) : 0;
}

int page_experiments_put(struct page *h, struct err *e)
{
	int rc = 0;

	JSONW_ARRAY(&h->json, "experiments") {
		if (h->j->inputs->nr == 1 && cpsession_is_causal(&job_input(h->j)->manifest))
			rc = put_one(h, "causal", e);
	}
	return rc;
}

int page_reports_put(struct page *h, struct err *e)
{
	struct inputs *in = h->j->inputs;
	struct pool *pool = in->pool ? NULL : pool_new(MAX_POOL_BYTES);
	const struct facts_report *report;
	int rc = 0;

	in->pool = in->pool ?: pool;
	JSONW_ARRAY(&h->json, "reports") {
		for (size_t i = 0; rc == 0 && (report = facts_report(in, i)); i++)
			if (report->is_view)
				rc = put_one(h, report->name, e);
	}
	if (pool)
		in->pool = NULL;
	pool_free(pool);
	return rc;
}
