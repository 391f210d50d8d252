/*
 * A growing byte buffer that declares its ceiling. The first failure sticks:
 * append freely, then ask buf_error once.
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
/* Forgets the content and the error, keeps the memory. */
void buf_reset(struct buf *b);
int buf_error(const struct buf *b);
/* The text so far, never NULL. */
const char *buf_str(const struct buf *b);

/* Room for len more bytes at data + len without counting them; NULL on failure. */
void *buf_reserve(struct buf *b, size_t len);
/* Counts len bytes that were written into room that buf_reserve gave. */
static inline void buf_use(struct buf *b, size_t len)
{
	b->len += len;
	b->data[b->len] = '\0';
}
/* Inline, like all that reports write with: mostly a copy of a few bytes into room that is there.
 */
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
/* Forgets what is behind the first len bytes, if there are more. */
static inline void buf_cut(struct buf *b, size_t len)
{
	if (len >= b->len)
		return;
	b->len = len;
	b->data[len] = '\0';
}
void buf_fill(struct buf *b, char c, size_t n);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Little-endian, whatever the host. */
void buf_le16(struct buf *b, uint16_t v);
void buf_le32(struct buf *b, uint32_t v);
void buf_le64(struct buf *b, uint64_t v);

/* Text in the machine formats: a JSON string with its quotes (bytes that are not UTF-8 become
 * U+FFFD), a CSV field quoted where RFC 4180 asks for it. */
void buf_json_string(struct buf *b, const char *s);
void buf_csv_field(struct buf *b, const char *s);
/* A number with thousands commas, whatever the locale. */
void buf_u64_commas(struct buf *b, uint64_t v);
/* Decimal, and lower-case hexadecimal without "0x", without printf. */
void buf_u64(struct buf *b, uint64_t v);
void buf_hex(struct buf *b, uint64_t v);
/* Two digits for each byte. */
void buf_hex_bytes(struct buf *b, const uint8_t *p, size_t len);
/* Text of len bytes, up to a NUL, from outside, safe to show: as str_disarm has it, and what is not
 * UTF-8 loses all that is not ASCII. */
void buf_shown(struct buf *b, const void *text, size_t len);

#endif
