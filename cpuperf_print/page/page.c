/*
 * --output-format=html: one page that shows a session in a browser, and needs nothing else. What
 * the page does is in html/; here its data is written, as JSON that stands in the page:
 *
 * title, subtitle, tool, facts, warnings, notes: text to show
 * sides: "now", and with --diff "before"
 * start_ns, slice_ns, nr_slices: the axis of time, since the session's start
 * events: label, unit, scale; samples of each side; period, if all samples have the same
 * comms; threads: comm, pid, tid of each; groups: side, event, thread of each
 * objects; names and functions: of each its name, and 2 × object + 1 if it is of the kernel
 * tree: of each node, in the order of a walk, how many levels it is above where its predecessor's
 *   child would be, and its function; nr_nodes with the root, which is not in the list
 * cells: of each node how many groups it has; of each of these its number, how many slices, and of
 *   each slice twice the distance from the one before, and 1 more and then the number of samples
 *   less 2 if there are several; and the weight if the event has no period
 * series: counts and misc; series_start_ns, series_span_ns: their time; iterations: when they began
 * certain: event, function, change and what is uncertain of it
 *
 * What is a list of numbers is text as export/digits.h has it. The page is bounded, whatever was
 * recorded: time is told less finely, then what is small is merged, and the page says so.
 */
#include "base/err.h"
#include "base/mem.h"
#include "counts/lines.h"
#include "exports/exports.h"
#include "page/html.h"
#include "page/source.h"
#include "report/comparable.h"
#include "report/stacks.h"
#include "samples.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DATA_BYTES = 64 << 20, MAX_NOTE_BYTES = 4096 };

/* In JSON these stand in strings only, so that a text can neither end the element that it is in
 * nor, by U+2028 or U+2029, a line of a script. */
static const struct {
	const char *text, *escape;
} escapes[] = {
    {"<", "\\u003c"},
    {">", "\\u003e"},
    {"&", "\\u0026"},
    {"\xe2\x80\xa8", "\\u2028"},
    {"\xe2\x80\xa9", "\\u2029"},
};

/* The length of what is escaped here; 0: nothing is. */
static size_t escape(struct buf *out, const char *s)
{
	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		size_t len = strlen(escapes[i].text);

		if (strncmp(s, escapes[i].text, len) != 0)
			continue;
		buf_adds(out, escapes[i].escape);
		return len;
	}
	return 0;
}

int html_flush(struct html *h, struct err *e)
{
	struct buf *out = &h->j->output->text;
	const char *s = buf_str(&h->data);

	while (*s) {
		size_t plain = strcspn(s, "<>&\xe2"), len;

		buf_add(out, s, plain);
		s += plain;
		len = *s ? escape(out, s) : 0;
		if (*s && !len) {
			buf_addc(out, *s);
			len = 1;
		}
		s += len;
	}
	if (buf_error(&h->data))
		return err_set(e, buf_error(&h->data), "a part of the page is too large");
	buf_reset(&h->data);
	return output_flush(h->j->output, e);
}

/* The program's locale is "C" for numbers. */
void html_real(struct html *h, const char *key, double v, unsigned digits)
{
	jsonw_key(&h->json, key);
	if (isfinite(v))
		buf_printf(&h->data, "%.*g", (int)digits, v);
	else
		buf_adds(&h->data, "null");
}

static bool has_line(const struct buf *b, const char *line)
{
	const char *found = strstr(buf_str(b), line);
	size_t len = strlen(line);

	while (found && !((found == b->data || found[-1] == '\n') && found[len] == '\n'))
		found = strstr(found + 1, line);
	return found != NULL;
}

void html_note(struct html *h, int kind, const char *format, ...)
{
	char line[MAX_NOTE_BYTES];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (!*line || has_line(&h->notes[kind], line))
		return;
	if (h->nr_notes[kind] == HTML_MAX_NOTES) {
		h->nr_more[kind]++;
		return;
	}
	h->nr_notes[kind]++;
	buf_adds(&h->notes[kind], line);
	buf_addc(&h->notes[kind], '\n');
}

static int html_init(struct html *h)
{
	buf_init(&h->data, MAX_DATA_BYTES);
	jsonw_init(&h->json, &h->data, false);
	for (int i = 0; i < 2; i++)
		buf_init(&h->notes[i], HTML_NOTES_BYTES);
	h->facts = job_input(h->j)->facts;
	h->nr_sides = h->j->inputs->nr_diff ? 2 : 1;
	h->has_samples = h->facts->is_sampling;
	h->by_iteration = h->j->inputs->nr == 1 && h->j->inputs->nr_diff == 1;
	h->stacks = report_stacks_new();
	return h->stacks ? 0 : -ENOMEM;
}

static void html_fini(struct html *h)
{
	counts_lines_free(h->lines);
	report_outline_fini(&h->outline);
	report_slices_free(h->slices);
	report_slices_free(h->leaves);
	report_stacks_free(h->stacks);
	for (int i = 0; i < HTML_NR_SIDES; i++)
		mem_free(h->stats[i].event);
	report_comparable_free(h->comparable);
	mem_free(h->certain);
	mem_free(h->threads);
	mem_free(h->groups);
	index_fini(&h->thread_index);
	index_fini(&h->group_index);
	for (int i = 0; i < 2; i++)
		buf_fini(&h->notes[i]);
	buf_fini(&h->data);
}

static int read_all(struct html *h, struct err *e)
{
	int rc = html_series_read(h, e);

	if (rc == 0)
		rc = html_samples_read(h, e);
	if (rc == 0)
		rc = html_head_read(h, e);
	return rc;
}

static int put_all(struct html *h, struct err *e)
{
	struct buf *out = &h->j->output->text;
	int rc;

	buf_add(out, html_head, html_head_len);
	jsonw_object(&h->json, NULL);
	rc = html_samples_put(h, e);
	if (rc == 0)
		rc = html_series_put(h, e);
	if (rc)
		return rc;
	html_head_put(h);
	jsonw_end(&h->json);
	if (buf_error(&h->notes[0]) || buf_error(&h->notes[1]))
		return err_set(e, -EFBIG, "there are too many notes for the page");
	rc = html_flush(h, e);
	buf_add(out, html_tail, html_tail_len);
	return rc ? rc : output_flush(h->j->output, e);
}

int export_html(struct job *j, struct err *e)
{
	struct html *h = mem_zalloc(sizeof(*h));
	int rc;

	if (!h)
		return err_set(e, -ENOMEM, "out of memory");
	h->j = j;
	rc = html_init(h);
	if (rc == 0)
		rc = read_all(h, e);
	if (rc == 0)
		rc = put_all(h, e);
	if (rc && !e->code)
		err_set(e, rc, "the page cannot be made: %s", strerror(-rc));
	html_fini(h);
	mem_free(h);
	return rc;
}
