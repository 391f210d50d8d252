/*
 * Text from outside, made safe: no control characters, nothing that is not UTF-8. A byte is
 * replaced by a byte, so that fixed fields and copies keep their length.
 * Must not know where the text comes from or where it goes.
 */
#include "trace/text.h"

#include "base/str.h"

#include <stdbool.h>
#include <string.h>

/* Length of the harmless character at s, or 0. */
static size_t harmless_length(const char *s, size_t left)
{
	unsigned char c = (unsigned char)*s;
	size_t len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

	if (c < 0x80)
		return c >= 0x20 && c != 0x7f;
	if (len > left || !str_is_utf8(s, len))
		return 0;
	/* U+0080 to U+009f: a terminal may take them for escape sequences */
	return c == 0xc2 && (unsigned char)s[1] < 0xa0 ? 0 : len;
}

static bool is_of(char c, const char *set)
{
	return c && strchr(set, c);
}

static void clean(char *s, size_t len, const char *kept)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = harmless_length(s + i, len - i);
		if (n)
			continue;
		if (!is_of(s[i], kept))
			s[i] = is_of(s[i], "\t\n\r") ? ' ' : '?';
		n = 1;
	}
}

void trace_text_clean(char *s, size_t len)
{
	clean(s, len, "");
}

void trace_text_clean_lines(char *s, size_t len)
{
	clean(s, len, "\t\n");
}
