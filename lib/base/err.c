/*
 * Errors for people: the first one wins.
 */
#include "base/err.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 6, 0))) static void set_v(struct err *e, int code, const char *source,
							unsigned line, unsigned column,
							const char *fmt, va_list ap)
{
	if (!e || e->code) {
		if (e)
			e->is_closed = true;
		return;
	}
	err_clear(e);
	e->code = code;
	e->line = line;
	e->column = column;
	if (source)
		snprintf(e->source, sizeof(e->source), "%s", source);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	str_disarm(e->source);
	str_disarm(e->msg);
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_v(e, code, NULL, 0, 0, fmt, ap);
	va_end(ap);
	return code;
}

int err_set_at(struct err *e, int code, const char *source, unsigned line, unsigned column,
	       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_v(e, code, source, line, column, fmt, ap);
	va_end(ap);
	return code;
}

void err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	if (!e || !e->code || e->is_closed || e->hint[0])
		return;
	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
	str_disarm(e->hint);
}

void err_clear(struct err *e)
{
	e->code = 0;
	e->line = e->column = 0;
	e->is_closed = false;
	e->source[0] = e->msg[0] = e->hint[0] = '\0';
}

void err_format(const struct err *e, char *buf, size_t size)
{
	char place[24] = "";

	if (e->line)
		snprintf(place, sizeof(place), ":%u:%u", e->line, e->column);
	snprintf(buf, size, "%s%s%serror: %s%s%s", e->source, place, e->source[0] ? ": " : "",
		 e->msg, e->hint[0] ? "\n  hint: " : "", e->hint);
}

struct err_list *err_list_new(void)
{
	return mem_zalloc(sizeof(struct err_list));
}

void err_list_cleanup(struct err_list **l)
{
	mem_free(*l);
}

struct err *err_list_insert(struct err_list *l, const struct err *e)
{
	size_t at = l->nr;

	while (at && (e->line < l->item[at - 1].line ||
		      (e->line == l->item[at - 1].line && e->column < l->item[at - 1].column)))
		at--;
	if (l->nr == ERR_LIST_MAX)
		l->dropped++; /* drop the last one, or *e */
	else
		l->nr++;
	if (at == ERR_LIST_MAX)
		return NULL;
	memmove(&l->item[at + 1], &l->item[at], (l->nr - at - 1) * sizeof(*e));
	l->item[at] = *e;
	return &l->item[at];
}

struct err *err_list_add(struct err_list *l)
{
	if (l->nr == ERR_LIST_MAX) {
		l->dropped++;
		return NULL;
	}
	err_clear(&l->item[l->nr]);
	return &l->item[l->nr++];
}
