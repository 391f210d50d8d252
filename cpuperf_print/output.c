/*
 * Writing of printed text.
 */
#include "output.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "options.h"
#include "registry.h"
#include "screen/layout.h"
#include "screen/number.h"
#include "screen/output_file.h"
#include "serve/browser.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEXT_BYTES = 1 << 30, FLUSH_BYTES = 64 << 10, MAX_COLUMNS_BYTES = 64 << 20 };

void output_init(struct output *o, const struct registry_row *format, const struct options *options)
{
	*o = (struct output){.options = options,
			     .format = format,
			     .form = format->kind == REGISTRY_EXPORT ? GRID_NDJSON : format->form,
			     .fd = -1};
	o->width = options->output_file ? 0 : opt_std_terminal_width();
	o->is_terminal = o->width != 0;
	o->has_color = o->is_terminal && opt_std_has_color() && !format->is_markdown;
	o->width = format->is_markdown ? 0 : o->width;
	buf_init(&o->text, MAX_TEXT_BYTES);
	arena_init(&o->columns, MAX_COLUMNS_BYTES);
	problems_init(&o->problems);
	o->document = format->is_document ? document_new() : NULL;
	if (!o->document)
		return;
	o->about = &o->document->columns;
	o->problems.also = document_add_problem;
	o->problems.also_arg = o->document;
}

void output_fini(struct output *o)
{
	buf_fini(&o->text);
	arena_fini(&o->columns);
	problems_fini(&o->problems);
	document_free(o->document);
}

/* The file must be none of those that are read. */
static int open_file(const struct options *o, struct err *e)
{
	const struct opt_strings *lists[] = {&o->sessions, &o->perf_data, &o->diff};
	const char *inputs[3 * OPT_MAX_STRINGS + 1];
	size_t nr = 0;

	for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++)
		for (size_t i = 0; i < lists[k]->nr; i++)
			inputs[nr++] = lists[k]->item[i];
	if (o->kallsyms)
		inputs[nr++] = o->kallsyms;
	return output_file_open(o->output_file, inputs, nr, e);
}

int output_open(struct output *o, struct err *e)
{
	o->fd = STDOUT_FILENO;
	o->name = "standard output";
	if (o->options->output_file) {
		o->name = o->options->output_file;
		if (o->format->is_folder)
			return 0;
		if (o->options->open)
			browser_begin_user();
		o->fd = open_file(o->options, e);
		if (o->options->open)
			browser_end_user();
		if (o->fd == -EACCES && o->options->open)
			browser_hint_user(e);
		return o->fd < 0 ? o->fd : 0;
	}
	if (o->is_terminal && !o->options->no_pager && pager_start(&o->pager))
		o->fd = o->pager.fd;
	return 0;
}

unsigned output_columns(const struct output *o)
{
	return o->format->is_markdown ? UINT_MAX : screen_columns(o->width);
}

bool output_is_answer(const struct output *o)
{
	return o->document && o->document->answer;
}

bool output_is_file(const struct output *o)
{
	const char *path = o->options->output_file;

	return path && io_named_descriptor(path) < 0;
}

int output_close(struct output *o, bool is_whole, struct err *e)
{
	int rc = 0;

	if (o->format->is_folder)
		return 0;
	if (o->options->open)
		browser_begin_user();
	if (o->options->output_file)
		rc = output_file_close(o->fd, o->name, is_whole, e);
	if (o->options->open)
		browser_end_user();
	pager_end(&o->pager);
	return rc;
}

void output_end_text(struct output *o)
{
	size_t len = o->text.len - o->nr_final;
	char *text;

	if ((!o->format->is_markdown && !o->document) || output_is_answer(o) || !len ||
	    buf_error(&o->text))
		return;
	text = mem_alloc(len);
	if (!text) {
		o->text.error = -ENOMEM;
		return;
	}
	memcpy(text, o->text.data + o->nr_final, len);
	buf_cut(&o->text, o->nr_final);
	if (o->document)
		document_put_rows(o->document, text, len, &o->text);
	else
		layout_markdown_block(&o->text, text, len);
	mem_free(text);
	o->nr_final = o->text.len;
}

void output_end_table(struct output *o)
{
	if (!o->document) /* tables are its rows */
		o->nr_final = o->text.len;
}

void output_end_frame(struct output *o)
{
	o->nr_final = o->text.len;
}

int output_write(struct output *o, struct err *e)
{
	int rc;

	if (o->is_held)
		return buf_error(&o->text);
	output_end_text(o);
	conclusion_end(&o->conclusion, &o->text);
	rc = buf_error(&o->text) ?: io_write_full(o->fd, o->text.data, o->text.len);
	o->nr_final = 0;
	o->nr_written += o->text.len;
	buf_reset(&o->text);
	return rc ? err_set_at(e, rc, o->name, 0, 0, "cannot be written: %s", strerror(-rc)) : 0;
}

int output_flush(struct output *o, struct err *e)
{
	return o->text.len >= FLUSH_BYTES && !o->is_held && !output_is_answer(o)
		   ? output_write(o, e)
		   : 0;
}
