/*
 * The growing buffer, and text forms that several output formats need.
 */
#include "base/buf.h"

#include "base/digits.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void buf_init(struct buf *b, size_t max_bytes)
{
	*b = (struct buf){.max_bytes = max_bytes};
}

void buf_fini(struct buf *b)
{
	mem_free(b->data);
	*b = (struct buf){.max_bytes = b->max_bytes};
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->error = 0;
	if (b->data)
		b->data[0] = '\0';
}

int buf_error(const struct buf *b)
{
	return b->error;
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

static int grow(struct buf *b, size_t need) /* total bytes, with the NUL */
{
	size_t cap = b->cap ? b->cap : 256;
	char *p;

	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : cap * 2;
	if (cap - 1 > b->max_bytes)
		cap = b->max_bytes + 1; /* use all of the limit */
	p = mem_resize(b->data, cap);
	if (!p)
		return -ENOMEM;
	p[b->len] = '\0'; /* even if the reserved bytes are not used */
	b->data = p;
	b->cap = cap;
	return 0;
}

void *buf_reserve(struct buf *b, size_t len)
{
	if (b->error)
		return NULL;
	if (len > b->max_bytes - b->len || len > SIZE_MAX - 1 - b->len) {
		b->error = -EFBIG;
		return NULL;
	}
	if (b->len + len + 1 > b->cap)
		b->error = grow(b, b->len + len + 1);
	return b->error ? NULL : b->data + b->len;
}

void buf_drop(struct buf *b, size_t len)
{
	if (!len)
		return; /* it may have no memory yet */
	memmove(b->data, b->data + len, b->len - len);
	buf_cut(b, b->len - len);
}

void buf_fill(struct buf *b, char c, size_t n)
{
	void *p = buf_reserve(b, n);

	if (!p)
		return;
	memset(p, c, n);
	buf_use(b, n);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int len;
	char *p;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len < 0) {
		b->error = b->error ? b->error : -EINVAL;
		return;
	}
	p = buf_reserve(b, (size_t)len);
	if (!p)
		return;
	vsnprintf(p, (size_t)len + 1, fmt, ap);
	buf_use(b, (size_t)len);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

static void add_le(struct buf *b, uint64_t v, size_t bytes)
{
	unsigned char *p = buf_reserve(b, bytes);

	if (!p)
		return;
	for (size_t i = 0; i < bytes; i++)
		p[i] = (unsigned char)(v >> (8 * i));
	buf_use(b, bytes);
}

void buf_le16(struct buf *b, uint16_t v)
{
	add_le(b, v, 2);
}

void buf_le32(struct buf *b, uint32_t v)
{
	add_le(b, v, 4);
}

void buf_le64(struct buf *b, uint64_t v)
{
	add_le(b, v, 8);
}

void buf_json_string(struct buf *b, const char *s)
{
	static const char letters[] = "btn?fr"; /* for 8 to 13 */

	buf_addc(b, '"');
	while (*s) {
		unsigned char c = (unsigned char)*s;
		size_t len = 0;

		while (s[len] >= ' ' && s[len] < 0x7f && s[len] != '"' && s[len] != '\\')
			len++; /* the common case */
		if (!len && c >= 0x80)
			len = str_character(s, strnlen(s, 4));
		if (len)
			buf_add(b, s, len);
		else if (c >= 0x80)
			buf_adds(b, "\xef\xbf\xbd");
		else if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (c >= 8 && c <= 13 && c != 11)
			buf_printf(b, "\\%c", letters[c - 8]);
		else
			buf_printf(b, "\\u%04x", c);
		s += len ? len : 1;
	}
	buf_addc(b, '"');
}

/* Names of programs and options begin so: "--", "-bash", "+x". Such a text calls no function, names
 * no other program, and has no link. */
static bool is_plain_name(const char *s)
{
	static const char letters[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

	return (*s == '-' || *s == '+') && !s[1 + strspn(s + 1, letters)];
}

/* An apostrophe that stands before such a text is marked, too, so that it can be told from ours. */
static bool is_formula(const char *s)
{
	s += strspn(s, "'");
	return *s && s[1] && strchr("=+-@\t\r", *s) && !is_plain_name(s);
}

void buf_csv_field(struct buf *b, const char *s)
{
	const bool is_marked = is_formula(s);

	if (!is_marked && !s[strcspn(s, ",\"\r\n")]) {
		buf_adds(b, s);
		return;
	}
	buf_adds(b, is_marked ? "\"'" : "\"");
	for (; *s; s++) {
		if (*s == '"')
			buf_addc(b, '"');
		buf_addc(b, *s);
	}
	buf_addc(b, '"');
}

void buf_shell_word(struct buf *b, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./=:,@%+-";

	if (*s && !s[strspn(s, plain)]) {
		buf_adds(b, s);
		return;
	}
	buf_addc(b, '\'');
	for (; *s; s++)
		buf_adds(b, *s == '\'' ? "'\\''" : (char[]){*s, '\0'});
	buf_addc(b, '\'');
}

void buf_xml(struct buf *b, const char *s)
{
	static const struct {
		char c;
		const char *text;
	} escapes[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};

	while (*s) {
		size_t n = str_visible(s, strnlen(s, 4)), i = 0;
		bool is_noncharacter = n == 3 && memcmp(s, "\xef\xbf\xbe", 2) == 0 &&
				       (uint8_t)s[2] >= 0xbe; /* U+FFFE, U+FFFF */

		while (i < sizeof(escapes) / sizeof(escapes[0]) && escapes[i].c != *s)
			i++;
		if (i < sizeof(escapes) / sizeof(escapes[0]))
			buf_adds(b, escapes[i].text);
		else
			buf_add(b, n && !is_noncharacter ? s : "?", n && !is_noncharacter ? n : 1);
		s += n ? n : 1;
	}
}

void buf_u64_commas(struct buf *b, uint64_t v)
{
	char digits[DIGITS_ROOM];
	size_t nr = (size_t)(digits_dec(digits, v) - digits), first = (nr - 1) % 3 + 1;

	buf_add(b, digits, first);
	for (size_t at = first; at < nr; at += 3) {
		buf_addc(b, ',');
		buf_add(b, digits + at, 3);
	}
}

void buf_u64(struct buf *b, uint64_t v)
{
	char digits[DIGITS_ROOM];

	buf_add(b, digits, (size_t)(digits_dec(digits, v) - digits));
}

void buf_hex(struct buf *b, uint64_t v)
{
	char digits[DIGITS_ROOM];

	buf_add(b, digits, (size_t)(digits_hex(digits, v) - digits));
}

void buf_hex_bytes(struct buf *b, const uint8_t *p, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++)
		buf_add(b, (char[]){digits[p[i] >> 4], digits[p[i] & 15]}, 2);
}

void buf_shown(struct buf *b, const void *text, size_t len)
{
	size_t start = b->len;

	buf_add(b, text, strnlen(text, len));
	if (!buf_error(b) && b->len > start)
		str_disarm(b->data + start);
}
