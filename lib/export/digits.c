#include "export/digits.h"

#include "base/buf.h"

enum { BITS = 5, MORE = 1 << BITS, MAX_DIGITS = (64 + BITS - 1) / BITS };

void export_digits_add(struct buf *b, uint64_t v)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	char text[MAX_DIGITS];
	size_t len = 0;

	for (; v >= MORE; v >>= BITS)
		text[len++] = digits[MORE | (v & (MORE - 1))];
	text[len++] = digits[v];
	buf_add(b, text, len);
}
