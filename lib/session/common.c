/*
 * The common file.
 */
#include "session/common.h"

#include "base/clock.h"
#include "session/notes.h"
#include "session/record.h"
#include "trace/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int common_init(struct common *c)
{
	*c = (struct common){.writer = NULL};
	return -pthread_mutex_init(&c->lock, NULL);
}

void common_fini(struct common *c)
{
	trace_file_abandon(c->file);
	trace_writer_free(c->writer);
	trace_packer_free(c->packer);
	pthread_mutex_destroy(&c->lock);
}

int common_prepare(struct common *c, const struct recorder *r, int level, struct err *e)
{
	struct trace_head head = recorder_head(r, TRACE_COMMON, TRACE_COMMON, UINT32_MAX);
	int rc;

	c->packer = trace_packer_new(level);
	if (!c->packer)
		return err_set(e, -ENOMEM, "no memory for compression");
	rc = recorder_writer_new(r, &c->writer, e);
	rc = rc ? rc : trace_writer_begin(c->writer, &head);
	return rc ? err_set(e, rc, "the common file cannot be written: %s", strerror(-rc)) : 0;
}

int common_create(struct common *c, const struct recorder *r, struct err *e)
{
	struct clock_triple now;

	clock_triple_now(&now);
	trace_writer_clocks(c->writer, &now);
	return session_output_create(r->output, c->writer, TRACE_COMMON, TRACE_COMMON, c->packer,
				     &c->file, e);
}

static void add_note(struct trace_writer *w, const char *text)
{
	trace_writer_note(w, &(struct trace_note){.time_ns = clock_monotonic_ns(), .text = text});
}

int common_finish(struct common *c, uint64_t start_ns, const char *const *notes, size_t nr_notes,
		  struct err *e)
{
	struct trace_totals totals = {.start_ns = start_ns, .end_ns = clock_monotonic_ns()};
	struct trace_file *file = c->file;
	char text[NOTES_TEXT_BYTES];

	c->file = NULL;
	trace_writer_more(c->writer);
	for (size_t i = 0; i < nr_notes; i++)
		if (*notes[i])
			add_note(c->writer, notes[i]);
	if (c->error.code) {
		snprintf(text, sizeof(text), UNSAVED_FORMAT, UNSAVED_WHY(&c->error));
		add_note(c->writer, text);
	}
	return trace_file_finish(file, c->writer, &totals, e);
}

void common_fail(struct common *c, const struct err *why)
{
	common_lock(c);
	if (!c->error.code)
		c->error = *why;
	common_unlock(c);
}

void common_lock(struct common *c)
{
	pthread_mutex_lock(&c->lock);
}

void common_unlock(struct common *c)
{
	pthread_mutex_unlock(&c->lock);
}

/* Locks. True: the file accepts data. */
static bool begin(struct common *c)
{
	common_lock(c);
	return c->file && !c->error.code;
}

/* Unlocks; failures of the file stick in c->error. */
static int end(struct common *c)
{
	int rc = c->error.code;

	common_unlock(c);
	return rc;
}

int common_add_records(struct common *c, const void *records, size_t len)
{
	struct trace_span span = {.part = {records, NULL}, .len = {len, 0}};

	if (begin(c))
		(void)trace_file_records(c->file, TRACE_RING_MADE, UINT32_MAX, &span, &c->error);
	return end(c);
}

int common_add_kallsyms(struct common *c, const char *text, size_t len)
{
	if (begin(c)) {
		trace_writer_more(c->writer);
		trace_writer_kallsyms(c->writer, text, len);
		(void)trace_file_append(c->file, c->writer, &c->error);
	}
	return end(c);
}

int common_add_packed_kallsyms(struct common *c, const void *piece, size_t len)
{
	if (begin(c))
		(void)trace_file_kallsyms(c->file, piece, len, &c->error);
	return end(c);
}

int common_add_cmdline(struct common *c, const struct trace_cmdline *cmdline)
{
	if (begin(c)) {
		trace_writer_more(c->writer);
		trace_writer_cmdline(c->writer, cmdline);
		(void)trace_file_append(c->file, c->writer, &c->error);
	}
	return end(c);
}

int common_add_build_id(struct common *c, const struct trace_build_id *id)
{
	if (begin(c)) {
		trace_writer_more(c->writer);
		trace_writer_build_id(c->writer, id);
		(void)trace_file_append(c->file, c->writer, &c->error);
	}
	return end(c);
}
