/*
 * A message's length precedes it but is known only at its end. One byte is reserved for it; a
 * message whose length needs more is moved.
 */
#include "export/proto.h"

#include "base/buf.h"
#include "base/str.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LEN = 2 };
enum { VARINT_BYTES = 10, KEY_BYTES = 5 };

/* Room for len bytes, not counted yet; NULL on failure. */
static inline uint8_t *room(struct buf *b, size_t len)
{
	if (b->data && !b->error && len < b->cap - b->len)
		return (uint8_t *)b->data + b->len;
	return buf_reserve(b, len);
}

static inline void use(struct buf *b, const uint8_t *end)
{
	buf_use(b, (size_t)(end - ((uint8_t *)b->data + b->len)));
}

static inline uint8_t *put_varint(uint8_t *p, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

static inline uint8_t *put_key(uint8_t *p, uint32_t field, unsigned wire)
{
	return put_varint(p, (uint64_t)field << 3 | wire);
}

void proto_uint(struct buf *b, uint32_t field, uint64_t v)
{
	uint8_t *p = room(b, KEY_BYTES + VARINT_BYTES);

	if (p)
		use(b, put_varint(put_key(p, field, WIRE_VARINT), v));
}

void proto_int(struct buf *b, uint32_t field, int64_t v)
{
	proto_uint(b, field, (uint64_t)v);
}

void proto_bool(struct buf *b, uint32_t field, bool v)
{
	proto_uint(b, field, v);
}

void proto_fixed64(struct buf *b, uint32_t field, uint64_t v)
{
	uint8_t *p = room(b, KEY_BYTES);

	if (!p)
		return;
	use(b, put_key(p, field, WIRE_FIXED64));
	buf_le64(b, v);
}

void proto_double(struct buf *b, uint32_t field, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	proto_fixed64(b, field, bits);
}

/* The key and the length of what follows. */
static void put_head(struct buf *b, uint32_t field, size_t len)
{
	uint8_t *p = room(b, KEY_BYTES + VARINT_BYTES);

	if (p)
		use(b, put_varint(put_key(p, field, WIRE_LEN), len));
}

void proto_bytes(struct buf *b, uint32_t field, const void *data, size_t len)
{
	put_head(b, field, len);
	buf_add(b, data, len);
}

void proto_text(struct buf *b, uint32_t field, const char *s)
{
	size_t len = strlen(s), start;

	if (str_is_utf8(s, len)) {
		proto_bytes(b, field, s, len);
		return;
	}
	start = proto_begin(b, field);
	while (*s) {
		size_t character = str_character(s, strnlen(s, 4));

		if (character)
			buf_add(b, s, character);
		else
			buf_adds(b, "\xef\xbf\xbd");
		s += character ? character : 1;
	}
	proto_end(b, start);
}

void proto_packed(struct buf *b, uint32_t field, const uint64_t *v, size_t nr)
{
	size_t start;

	if (!nr)
		return;
	start = proto_begin(b, field);
	for (size_t i = 0; i < nr; i++) {
		uint8_t *p = room(b, VARINT_BYTES);

		if (p)
			use(b, put_varint(p, v[i]));
	}
	proto_end(b, start);
}

size_t proto_begin(struct buf *b, uint32_t field)
{
	put_head(b, field, 0);
	return b->len;
}

void proto_end(struct buf *b, size_t start)
{
	size_t len, more = 0;
	char *p;

	if (buf_error(b))
		return;
	len = b->len - start;
	for (size_t rest = len; rest >>= 7;)
		more++;
	if (more && !room(b, more))
		return;
	p = b->data + start;
	memmove(p + more, p, len);
	put_varint((uint8_t *)p - 1, len);
	if (more)
		buf_use(b, more);
}
