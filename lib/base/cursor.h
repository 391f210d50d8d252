/*
 * A bounded little-endian reader of untrusted bytes. Beyond the end it returns zeros, and the
 * underflow sticks: decode a whole record, then call cursor_ok once. Inline, because it reads every
 * field of every record.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at;
	size_t left;
	bool underflow;
};

static inline void cursor_init(struct cursor *c, const void *data, size_t len)
{
	*c = (struct cursor){.at = data, .left = len};
}

static inline bool cursor_ok(const struct cursor *c)
{
	return !c->underflow;
}

/* A pointer to the next len bytes; NULL on underflow. */
static inline const uint8_t *cursor_bytes(struct cursor *c, size_t len)
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

static inline void cursor_skip(struct cursor *c, size_t len)
{
	cursor_bytes(c, len);
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 1);

	return p ? *p : 0;
}

static inline uint16_t cursor_le16(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 2);
	uint16_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t cursor_le32(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 4);
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t cursor_le64(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 8);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* A length (u16) and that many bytes; a pointer into the input, not terminated. */
static inline const char *cursor_string16(struct cursor *c, size_t *len)
{
	size_t n = cursor_le16(c);
	const uint8_t *p = cursor_bytes(c, n);

	*len = p ? n : 0;
	return p ? (const char *)p : "";
}

#endif
