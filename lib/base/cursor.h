/*
 * A bounded, little-endian reader over bytes from outside. It never reads past
 * the end: an underflow returns zeros and sticks, so decode a whole record and
 * then ask cursor_ok once. Inline: every field of every record of a session goes through here.
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

/* A pointer to len bytes inside the input, or NULL (and underflow). */
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

/* Passes over len bytes. */
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

/* A length (u16) and that many bytes; returns a pointer into the input, not terminated. */
const char *cursor_string16(struct cursor *c, size_t *len);

#endif
