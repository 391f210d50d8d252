/*
 * Warnings of a session.
 */
#include "session/notes.h"

#include "base/clock.h"
#include "base/mem.h"
#include "trace/writer.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 4, 0))) static void
add(struct notes *n, uint32_t trace, bool is_essential, const char *fmt, va_list ap)
{
	struct note note = {.trace = trace, .time_ns = clock_monotonic_ns()};
	char text[NOTES_TEXT_BYTES];

	vsnprintf(text, sizeof(text), fmt, ap);
	if (n->on_note)
		n->on_note(text, is_essential, n->arg);
	if (n->nr < NOTES_MAX && (note.text = mem_strdup(text)))
		n->item[n->nr++] = note;
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
