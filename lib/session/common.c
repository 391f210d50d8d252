/*
 * The common file.
 */
#include "session/common.h"

#include "base/clock.h"
#include "base/log.h"
#include "plan/notes.h"
#include "session/record.h"
#include "trace/file.h"
#include "trace/shorten.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MIN_DUE_BYTES = 4 << 20 };

int common_init(struct common *c)
{
	*c = (struct common){.due_bytes = MIN_DUE_BYTES};
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

	c->level = level;
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
	char text[NOTES_TEXT_BYTES];
	struct trace_file *file;

	common_lock(c); /* it may be being shortened */
	file = c->file;
	c->file = NULL;
	common_unlock(c);
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

static uint64_t due_bytes(uint64_t bytes)
{
	return 2 * bytes > MIN_DUE_BYTES ? 2 * bytes : MIN_DUE_BYTES;
}

/* The bytes of a file that is due, or 0. */
static uint64_t bytes_if_due(struct common *c)
{
	uint64_t bytes;

	common_lock(c);
	bytes = c->file && !c->error.code ? trace_file_bytes(c->file) : 0;
	if (bytes < c->due_bytes)
		bytes = 0;
	common_unlock(c);
	return bytes;
}

bool common_is_due(struct common *c)
{
	return bytes_if_due(c) != 0;
}

/* Under the lock. */
static int finish_copy(struct common *c, struct trace_copy *copy, struct err *e)
{
	if (c->file && !c->error.code)
		return trace_shorten_end(copy, c->file, e);
	trace_shorten_drop(copy);
	return 0;
}

void common_shorten(struct common *c, struct trace_shorten *how)
{
	uint64_t bytes = bytes_if_due(c), begin_ns = clock_monotonic_ns(), left = bytes;
	struct trace_copy copy;
	struct err e = {0};
	int rc;

	if (!bytes)
		return;
	how->packer = c->level ? trace_packer_new(c->level) : NULL;
	rc = trace_shorten_begin(&copy, how, bytes, &e);
	common_lock(c);
	rc = rc ?: finish_copy(c, &copy, &e);
	if (c->file)
		left = trace_file_bytes(c->file);
	c->due_bytes = due_bytes(left);
	common_unlock(c);
	trace_packer_free(how->packer);
	if (rc)
		log_verbose(1, "%s", e.msg);
	else
		log_verbose(1, "the common file: %llu of %llu KiB remain, in %llu ms",
			    (unsigned long long)left >> 10, (unsigned long long)bytes >> 10,
			    (unsigned long long)(clock_monotonic_ns() - begin_ns) / 1000000);
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

int common_add_packed(struct common *c, const void *frame, size_t len)
{
	if (begin(c))
		(void)trace_file_packed(c->file, frame, len, &c->error);
	return end(c);
}

int common_add_cmdlines(struct common *c, const struct trace_cmdline *list, size_t nr)
{
	if (begin(c)) {
		trace_writer_more(c->writer);
		for (size_t i = 0; i < nr; i++)
			trace_writer_cmdline(c->writer, &list[i]);
		(void)trace_file_append(c->file, c->writer, &c->error);
	}
	return end(c);
}

static void add_mark_name(void *file, const struct trace_mark_name *name)
{
	struct common *c = file;

	if (begin(c)) {
		trace_writer_more(c->writer);
		trace_writer_mark_name(c->writer, name);
		(void)trace_file_append(c->file, c->writer, &c->error);
	}
	(void)end(c); /* an error sticks there */
}

static void add_switch(void *file, const struct trace_switch *change)
{
	struct common *c = file;

	if (begin(c)) {
		trace_writer_more(c->writer);
		trace_writer_switch(c->writer, change);
		(void)trace_file_append(c->file, c->writer, &c->error);
	}
	(void)end(c); /* an error sticks there */
}

static void add_marks(void *file, const struct trace_marks *marks)
{
	struct common *c = file;

	if (begin(c)) {
		trace_writer_more(c->writer);
		trace_writer_marks(c->writer, marks);
		(void)trace_file_append(c->file, c->writer, &c->error);
	}
	(void)end(c); /* an error sticks there */
}

int common_add_build_ids(struct common *c, const struct trace_build_id *list, size_t nr)
{
	if (begin(c)) {
		trace_writer_more(c->writer);
		for (size_t i = 0; i < nr; i++)
			trace_writer_build_id(c->writer, &list[i]);
		(void)trace_file_append(c->file, c->writer, &c->error);
	}
	return end(c);
}

int common_add_code(struct common *c, const struct trace_code *code)
{
	if (begin(c)) {
		trace_writer_more(c->writer);
		trace_writer_code(c->writer, code);
		(void)trace_file_append(c->file, c->writer, &c->error);
	}
	return end(c);
}

int common_add_compiled(struct common *c, const struct trace_compiled *compiled)
{
	if (begin(c)) {
		trace_writer_more(c->writer);
		trace_writer_compiled(c->writer, compiled);
		(void)trace_file_append(c->file, c->writer, &c->error);
	}
	return end(c);
}

struct source_file common_file(struct common *c)
{
	return (struct source_file){
	    .file = c,
	    .add_mark_name = add_mark_name,
	    .add_marks = add_marks,
	    .add_switch = add_switch,
	};
}
