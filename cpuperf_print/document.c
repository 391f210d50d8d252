#include "document.h"

#include "answer.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "base/mem.h"
#include "inputs.h"
#include "navigator/facts.h"
#include "screen/document.h"

enum { MAX_COLUMNS_BYTES = 64 << 10, MAX_PROBLEMS_BYTES = 256 << 10 };

struct document *document_new(void)
{
	struct document *d = mem_zalloc(sizeof(*d));

	if (!d)
		return NULL;
	buf_init(&d->columns, MAX_COLUMNS_BYTES);
	buf_init(&d->problems, MAX_PROBLEMS_BYTES);
	return d;
}

void document_free(struct document *d)
{
	if (!d)
		return;
	buf_fini(&d->columns);
	buf_fini(&d->problems);
	answer_free(d->answer);
	mem_free(d);
}

static void put_error(struct json_writer *json, const char *key, const struct err *e)
{
	JSONW_OBJECT(json, key) {
		jsonw_text(json, "message", e->msg);
		jsonw_text(json, "source", *e->source ? e->source : NULL);
		jsonw_text(json, "hint", *e->hint ? e->hint : NULL);
	}
}

void document_add_problem(void *document, const struct err *problem)
{
	struct document *d = document;
	BUF_AUTO(text, MAX_PROBLEMS_BYTES);
	struct json_writer json;

	jsonw_init(&json, &text, false);
	put_error(&json, NULL, problem);
	if (buf_error(&text) || d->problems.len + text.len + 1 >= MAX_PROBLEMS_BYTES)
		return;
	buf_add(&d->problems, text.data, text.len);
	buf_addc(&d->problems, '\n');
}

void document_begin(struct document *d, const struct inputs *in, struct buf *text)
{
	struct json_writer json;

	d->has_reports = false;
	screen_document_begin(text, "report", "cpuperf_print " CPUPERF_VERSION);
	buf_addc(text, ',');
	jsonw_init(&json, text, false);
	facts_put_inputs(&json, in);
	buf_adds(text, ",\n\"reports\":[");
}

void document_begin_report(struct document *d, const char *name, struct buf *text)
{
	buf_printf(text, "%s\n{\"report\":\"%s\",\"rows\":[", d->has_reports ? "," : "", name);
	d->has_reports = true;
	d->has_rows = false;
	buf_reset(&d->columns);
}

void document_put_rows(struct document *d, const char *lines, size_t len, struct buf *text)
{
	screen_document_rows(text, lines, len, &d->has_rows);
}

/* Columns are known after the rows: a report may need its samples to choose them. */
void document_end_report(struct document *d, struct buf *text)
{
	buf_printf(text, "],\n\"columns\":%s}", d->columns.len ? buf_str(&d->columns) : "[]");
}

void document_end(struct document *d, const struct err *e, struct buf *text)
{
	struct json_writer json;
	bool has_items = false;

	buf_adds(text, "],\n\"problems\":[");
	screen_document_rows(text, buf_str(&d->problems), d->problems.len, &has_items);
	buf_addc(text, ']');
	if (e) {
		buf_addc(text, ',');
		jsonw_init(&json, text, false);
		put_error(&json, "error", e);
	}
	buf_adds(text, "}\n");
}
