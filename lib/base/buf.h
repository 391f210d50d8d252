/*
 * A growing byte buffer with a limit. The first failure sticks: append without checks, then call
 * buf_error once.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
	char *data; /* owned; always NUL-terminated once non-NULL; not counted in len */
	size_t len;
	size_t cap;
	size_t max_bytes;
	int error; /* 0, -ENOMEM or -EFBIG: sticky */
};

void buf_init(struct buf *b, size_t max_bytes);
void buf_fini(struct buf *b);
/* Declares an empty buffer that is freed at the end of its scope: `BUF_AUTO(text, 4096);` */
#define BUF_AUTO(name, limit)                                                                      \
	__attribute__((cleanup(buf_fini))) struct buf name = {.max_bytes = (limit)}
/* Removes the content and the error; keeps the memory. */
void buf_reset(struct buf *b);
int buf_error(const struct buf *b);
/* The content, never NULL. */
const char *buf_str(const struct buf *b);

/* Ensures room for len more bytes at the returned data + len; NULL on failure. */
void *buf_reserve(struct buf *b, size_t len);
/* Appends len bytes that were written to what buf_reserve returned. */
static inline void buf_use(struct buf *b, size_t len)
{
	b->len += len;
	b->data[b->len] = '\0';
}
/* Inline, because reports append mostly a few bytes at a time. */
static inline void buf_add(struct buf *b, const void *data, size_t len)
{
	void *p =
	    b->data && !b->error && len < b->cap - b->len ? b->data + b->len : buf_reserve(b, len);

	if (!p)
		return;
	if (len)
		memcpy(p, data, len);
	buf_use(b, len);
}
static inline void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}
static inline void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}
/* Truncates the content to len bytes, if it is longer. */
static inline void buf_cut(struct buf *b, size_t len)
{
	if (len >= b->len)
		return;
	b->len = len;
	b->data[len] = '\0';
}
/* Removes the first len bytes, of at least so many. */
void buf_drop(struct buf *b, size_t len);
void buf_fill(struct buf *b, char c, size_t n);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Little-endian. */
void buf_le16(struct buf *b, uint16_t v);
void buf_le32(struct buf *b, uint32_t v);
void buf_le64(struct buf *b, uint64_t v);

/* A JSON string with quotes (invalid UTF-8 becomes U+FFFD); a CSV field, quoted as RFC 4180
 * requires, with an apostrophe before what a spreadsheet would take for a formula: of a field that
 * begins with apostrophes and one of = + - @, a tab or CR, a reader removes the first. */
void buf_json_string(struct buf *b, const char *s);
void buf_csv_field(struct buf *b, const char *s);
/* One argument of a command, quoted for a shell. */
void buf_shell_word(struct buf *b, const char *s);
/* Text of XML: characters that it does not allow, and those that are not visible, become "?". */
void buf_xml(struct buf *b, const char *s);
/* With commas every three digits, in any locale. */
void buf_u64_commas(struct buf *b, uint64_t v);
/* Decimal; lower-case hexadecimal without "0x". */
void buf_u64(struct buf *b, uint64_t v);
void buf_hex(struct buf *b, uint64_t v);
/* Two digits per byte. */
void buf_hex_bytes(struct buf *b, const uint8_t *p, size_t len);
/* Text sanitised by str_disarm, up to len bytes or a NUL. */
void buf_shown(struct buf *b, const void *text, size_t len);

#endif
