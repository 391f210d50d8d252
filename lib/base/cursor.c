/*
 * What of the bounded cursor is not hot.
 */
#include "base/cursor.h"

const char *cursor_string16(struct cursor *c, size_t *len)
{
	size_t n = cursor_le16(c);
	const uint8_t *p = cursor_bytes(c, n);

	*len = p ? n : 0;
	return p ? (const char *)p : "";
}
