/*
 * The bounded cursor.
 */
#include "base/cursor.h"

void cursor_init(struct cursor *c, const void *data, size_t len)
{
	*c = (struct cursor){.at = data, .left = len};
}

bool cursor_ok(const struct cursor *c)
{
	return !c->underflow;
}

const uint8_t *cursor_bytes(struct cursor *c, size_t len)
{
	const uint8_t *p = c->at;

	if (c->underflow || len > c->left) {
		c->underflow = true;
		return NULL;
	}
	if (len)
		c->at += len;
	c->left -= len;
	return p;
}

void cursor_skip(struct cursor *c, size_t len)
{
	cursor_bytes(c, len);
}

static uint64_t take_le(struct cursor *c, size_t bytes)
{
	const uint8_t *p = cursor_bytes(c, bytes);
	uint64_t v = 0;

	for (size_t i = 0; p && i < bytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

uint8_t cursor_u8(struct cursor *c)
{
	return (uint8_t)take_le(c, 1);
}

uint16_t cursor_le16(struct cursor *c)
{
	return (uint16_t)take_le(c, 2);
}

uint32_t cursor_le32(struct cursor *c)
{
	return (uint32_t)take_le(c, 4);
}

uint64_t cursor_le64(struct cursor *c)
{
	return take_le(c, 8);
}

const char *cursor_string16(struct cursor *c, size_t *len)
{
	size_t n = cursor_le16(c);
	const uint8_t *p = cursor_bytes(c, n);

	*len = p ? n : 0;
	return p ? (const char *)p : "";
}
