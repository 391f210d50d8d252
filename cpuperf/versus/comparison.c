#include "versus/comparison.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/json_writer.h"
#include "screen/cases.h"
#include "screen/document.h"
#include "screen/grid.h"
#include "screen/layout.h"
#include "screen/number.h"

#include <errno.h>
#include <string.h>

enum { MAX_TEXT_BYTES = 1 << 24 };

struct format {
	const char *name;
	int (*write)(const struct comparison *c, const struct format *f, unsigned width,
		     struct buf *out);
	enum grid_form form;
	const struct cases_format *cases;
	enum comparison_recording recording;
	bool needs_limit, is_only_here;
};

static int write_rows(const struct comparison *c, const struct format *f, unsigned width,
		      struct buf *out)
{
	const struct grid_options how = {.form = f->form, .report = c->name};

	(void)width;
	return c->put_table(c->of, &how, out);
}

static int write_text(const struct comparison *c, const struct format *f, unsigned width,
		      struct buf *out)
{
	const struct grid_options how = {.form = f->form, .width = width, .report = c->name};
	size_t from = out->len;
	int rc;

	c->put_head(c->of, out);
	screen_wrap_lines(out, from, screen_columns(width));
	buf_addc(out, '\n');
	rc = c->put_table(c->of, &how, out);
	buf_addc(out, '\n');
	if (c->put_plot)
		c->put_plot(c->of, screen_columns(width), out);
	from = out->len;
	c->put_notes(c->of, out);
	screen_wrap_lines(out, from, screen_columns(width));
	return rc;
}

static int write_markdown(const struct comparison *c, const struct format *f, unsigned width,
			  struct buf *out)
{
	const struct grid_options how = {.form = f->form, .is_markdown = true, .report = c->name};
	BUF_AUTO(head, MAX_TEXT_BYTES);
	BUF_AUTO(rest, MAX_TEXT_BYTES);
	int rc;

	(void)width;
	c->put_head(c->of, &head);
	layout_markdown_block(out, buf_str(&head), head.len);
	rc = c->put_table(c->of, &how, out);
	if (c->put_plot)
		c->put_plot(c->of, screen_columns(0), &rest);
	c->put_notes(c->of, &rest);
	layout_markdown_block(out, buf_str(&rest), rest.len);
	return rc ?: buf_error(&head) ?: buf_error(&rest);
}

static int write_document(const struct comparison *c, const struct format *f, unsigned width,
			  struct buf *out)
{
	BUF_AUTO(rows, MAX_TEXT_BYTES);
	BUF_AUTO(head, MAX_TEXT_BYTES);
	struct json_writer json;
	bool has_items = false;
	int rc = write_rows(c, f, width, &rows);

	if (rc)
		return rc;
	screen_document_begin(out, c->name, "cpuperf " CPUPERF_VERSION);
	buf_addc(out, ',');
	jsonw_init(&json, out, false);
	c->put_head(c->of, &head);
	buf_cut(&head, head.len - 1);
	jsonw_text(&json, "conclusion", buf_str(&head));
	c->put_facts(c->of, &json);
	buf_adds(out, ",\n\"columns\":");
	grid_describe_fields(c->columns, c->nr_columns, f->form, out);
	buf_adds(out, ",\n\"rows\":[");
	screen_document_rows(out, buf_str(&rows), rows.len, &has_items);
	buf_adds(out, "],\n");
	jsonw_init(&json, out, false);
	c->put_rest(c->of, &json);
	buf_adds(out, "}\n");
	return buf_error(&rows) ?: buf_error(&head);
}

static int write_cases(const struct comparison *c, const struct format *f, unsigned width,
		       struct buf *out)
{
	BUF_AUTO(suite, 64);
	struct cases cases;
	int rc;

	(void)width;
	buf_printf(&suite, "cpuperf %s", c->name);
	cases_init(&cases, f->cases);
	c->add_cases(c->of, &cases);
	cases_write(&cases, buf_str(&suite), out);
	rc = buf_error(&cases.text);
	cases_fini(&cases);
	return rc;
}

static const struct format formats[] = {
    {.name = "text", .write = write_text, .form = GRID_PEOPLE, .recording = COMPARISON_REPORT},
    {.name = "csv", .write = write_rows, .form = GRID_CSV},
    {.name = "ndjson", .write = write_rows, .form = GRID_NDJSON},
    {.name = "json", .write = write_document, .form = GRID_NDJSON, .recording = COMPARISON_ROWS},
    {.name = "markdown",
     .write = write_markdown,
     .form = GRID_PEOPLE,
     .recording = COMPARISON_REPORT,
     .is_only_here = true},
    /* the verdict, for people: the page is cpuperf_print's */
    {.name = "html",
     .write = write_text,
     .form = GRID_PEOPLE,
     .recording = COMPARISON_PAGE,
     .is_only_here = true},
    {.name = "junit",
     .write = write_cases,
     .cases = &cases_junit,
     .needs_limit = true,
     .is_only_here = true},
    {.name = "github", .write = write_cases, .cases = &cases_github, .is_only_here = true},
};

static const struct format *find(const char *name)
{
	return ARRAY_FIND(f, formats, ARRAY_NR(formats), strcmp(f->name, name) == 0);
}

bool comparison_has_format(const char *format)
{
	return find(format);
}

bool comparison_is_only_format(const char *format)
{
	const struct format *f = find(format);

	return f && f->is_only_here;
}

enum comparison_recording comparison_recording(const char *format)
{
	const struct format *f = find(format);

	return f ? f->recording : COMPARISON_NO_RECORDING;
}

bool comparison_needs_limit(const char *format)
{
	const struct format *f = find(format);

	return f && f->needs_limit;
}

bool comparison_is_of_cases(const char *format)
{
	const struct format *f = find(format);

	return f && f->cases;
}

int comparison_write(const struct comparison *c, const char *format, unsigned width,
		     struct buf *out)
{
	const struct format *f = find(format);
	int rc = f ? f->write(c, f, width, out) : -EINVAL;

	return rc ? rc : buf_error(out);
}
