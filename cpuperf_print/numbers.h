/*
 * Numbers as text, for the arguments of a printf. The text is valid until the enclosing block ends.
 */
#ifndef CPUPERF_PRINT_NUMBERS_H
#define CPUPERF_PRINT_NUMBERS_H

#include "base/buf.h"
#include "screen/number.h"

enum { NUMBERS_BYTES = 128 };

/* With commas; with a prefix and its unit; with so many decimals. */
#define COMMAS(n)            numbers_commas((char[NUMBERS_BYTES]){0}, n)
#define HUMAN(x, unit)       numbers_human((char[NUMBERS_BYTES]){0}, x, unit)
#define DECIMAL(x, decimals) numbers_decimal((char[NUMBERS_BYTES]){0}, x, decimals)

/* A buffer that never needs the heap: text is an array of NUMBERS_BYTES. */
static inline struct buf numbers_buf(char *text)
{
	return (struct buf){.data = text, .cap = NUMBERS_BYTES, .max_bytes = NUMBERS_BYTES - 1};
}

static inline const char *numbers_commas(char *text, uint64_t n)
{
	struct buf b = numbers_buf(text);

	buf_u64_commas(&b, n);
	return text;
}

static inline const char *numbers_human(char *text, double x, const char *unit)
{
	struct buf b = numbers_buf(text);

	screen_human(&b, x, unit);
	return text;
}

static inline const char *numbers_decimal(char *text, double x, unsigned decimals)
{
	struct buf b = numbers_buf(text);

	screen_decimal(&b, x, decimals);
	return text;
}

#endif
