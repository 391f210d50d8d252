/*
 * Writes the page's data and notes.
 */
#include "base/err.h"
#include "page/page.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NOTE_BYTES = 4096 };

/* In JSON these occur in strings only. Unescaped, they could end the element that contains the data
 * or, as U+2028 or U+2029, a line of a script. */
static const struct {
	const char *text, *escape;
} escapes[] = {
    {"<", "\\u003c"},
    {">", "\\u003e"},
    {"&", "\\u0026"},
    {"\xe2\x80\xa8", "\\u2028"},
    {"\xe2\x80\xa9", "\\u2029"},
};

/* Escapes the character at s. Returns its length; 0: nothing to escape. */
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

int page_flush(struct page *h, struct err *e)
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

/* LC_NUMERIC of the program is "C". */
void page_real(struct page *h, const char *key, double v, unsigned digits)
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

void page_note(struct page *h, int kind, const char *format, ...)
{
	char line[MAX_NOTE_BYTES];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (!*line || has_line(&h->notes[kind], line))
		return;
	if (h->nr_notes[kind] == PAGE_MAX_NOTES) {
		h->nr_more[kind]++;
		return;
	}
	h->nr_notes[kind]++;
	buf_adds(&h->notes[kind], line);
	buf_addc(&h->notes[kind], '\n');
}
