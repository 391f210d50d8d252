/*
 * A bounded, little-endian reader over bytes from outside. It never reads past
 * the end: an underflow returns zeros and sticks, so decode a whole record and
 * then ask cursor_ok once.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
	const uint8_t *at;
	size_t left;
	bool underflow;
};

void cursor_init(struct cursor *c, const void *data, size_t len);
bool cursor_ok(const struct cursor *c);
uint8_t cursor_u8(struct cursor *c);
uint16_t cursor_le16(struct cursor *c);
uint32_t cursor_le32(struct cursor *c);
uint64_t cursor_le64(struct cursor *c);
/* A pointer to len bytes inside the input, or NULL (and underflow). */
const uint8_t *cursor_bytes(struct cursor *c, size_t len);
/* Passes over len bytes. */
void cursor_skip(struct cursor *c, size_t len);
/* A length (u16) and that many bytes; returns a pointer into the input, not terminated. */
const char *cursor_string16(struct cursor *c, size_t *len);

#endif
