/*
 * Numbers and texts of a perf.data file, in its byte order, through a bounded cursor. Private to
 * import/.
 */
#ifndef IMPORT_BYTES_H
#define IMPORT_BYTES_H

#include "base/cursor.h"

struct import_bytes {
	struct cursor c;
	bool is_big;
};

static inline struct import_bytes import_bytes(const void *data, size_t len, bool is_big)
{
	return (struct import_bytes){{.at = data, .left = len}, is_big};
}

static inline uint16_t import_u16(struct import_bytes *b)
{
	uint16_t v = cursor_le16(&b->c);

	return b->is_big ? __builtin_bswap16(v) : v;
}

static inline uint32_t import_u32(struct import_bytes *b)
{
	uint32_t v = cursor_le32(&b->c);

	return b->is_big ? __builtin_bswap32(v) : v;
}

static inline uint64_t import_u64(struct import_bytes *b)
{
	uint64_t v = cursor_le64(&b->c);

	return b->is_big ? __builtin_bswap64(v) : v;
}

/* A length (u32) and a text of that size, up to its NUL; *len is the length of the text. NULL and
 * underflow if the bytes are not there. */
static inline const char *import_string(struct import_bytes *b, size_t *len)
{
	uint32_t size = import_u32(b);
	const uint8_t *p = cursor_bytes(&b->c, size);
	const void *nul = p && size ? memchr(p, '\0', size) : NULL;

	*len = nul ? (size_t)((const uint8_t *)nul - p) : p ? size : 0;
	return (const char *)p;
}

#endif
