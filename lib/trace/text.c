/*
 * Text from outside, made safe: no control characters, nothing that is not UTF-8. A byte is
 * replaced by a byte, so that fixed fields and copies keep their length.
 * Must not know where the text comes from or where it goes.
 */
#include "trace/text.h"

#include "base/str.h"

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

void trace_text_clean(char *s, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = harmless_length(s + i, len - i);
		if (n)
			continue;
		s[i] = s[i] == '\t' || s[i] == '\n' || s[i] == '\r' ? ' ' : '?';
		n = 1;
	}
}
