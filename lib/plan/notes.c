/*
 * Warnings of a session.
 */
#include "plan/notes.h"

#include "base/clock.h"
#include "base/mem.h"
#include "trace/writer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The number of notes with this fmt, including this one; 0: not counted. */
static uint64_t count(struct notes *n, const char *fmt)
{
	size_t i = 0;

	if (strcmp(fmt, "%s") == 0)
		return 0;
	while (i < NOTES_NR_KINDS && n->kind[i].fmt && strcmp(n->kind[i].fmt, fmt) != 0)
		i++;
	if (i == NOTES_NR_KINDS)
		return 0;
	n->kind[i].fmt = fmt;
	return ++n->kind[i].nr;
}

static void pass_on(struct notes *n, uint64_t nr, bool is_essential, char *text, size_t size)
{
	enum { MIN_NOTES = 3 };
	size_t len = strlen(text);

	if (!n->on_note || (!is_essential && nr > MIN_NOTES && nr & (nr - 1)))
		return;
	if (nr > MIN_NOTES)
		snprintf(text + len, size - len, " (so far %" PRIu64 " warnings like this)", nr);
	n->on_note(text, is_essential, n->arg);
}

__attribute__((format(printf, 4, 0))) static void
add(struct notes *n, uint32_t trace, bool is_essential, const char *fmt, va_list ap)
{
	struct note note = {.trace = trace, .time_ns = clock_monotonic_ns()};
	char text[NOTES_TEXT_BYTES];

	vsnprintf(text, sizeof(text), fmt, ap);
	if (n->nr < NOTES_MAX && (note.text = mem_strdup(text)))
		n->item[n->nr++] = note;
	pass_on(n, count(n, fmt), is_essential, text, sizeof(text));
}

void notes_add(struct notes *n, uint32_t trace, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(n, trace, false, fmt, ap);
	va_end(ap);
}

void notes_add_essential(struct notes *n, uint32_t trace, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(n, trace, true, fmt, ap);
	va_end(ap);
}

void notes_add_late(const struct notes *n, const char *text)
{
	if (n->on_late)
		n->on_late(text, n->arg);
}

void notes_write(const struct notes *n, uint32_t trace, struct trace_writer *w)
{
	for (size_t i = 0; i < n->nr; i++)
		if (n->item[i].trace == trace)
			trace_writer_note(w, &(struct trace_note){.time_ns = n->item[i].time_ns,
								  .text = n->item[i].text});
}

void notes_drop(struct notes *n)
{
	while (n->nr)
		mem_free(n->item[--n->nr].text);
}
