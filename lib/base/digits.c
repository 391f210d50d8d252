/*
 * Converts several digits at a time.
 */
#include "base/digits.h"

#include <endian.h>
#include <string.h>

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
			    "25262728293031323334353637383940414243444546474849"
			    "50515253545556575859606162636465666768697071727374"
			    "75767778798081828384858687888990919293949596979899";

char *digits_dec(char *p, uint64_t v)
{
	char text[DIGITS_ROOM];
	char *const end = text + sizeof(text);
	char *at = end;

	for (; v >= 100; v /= 100)
		at = memcpy(at - 2, pairs + 2 * (v % 100), 2);
	if (v >= 10)
		at = memcpy(at - 2, pairs + 2 * v, 2);
	else
		*--at = (char)('0' + v);
	memcpy(p, at, (size_t)(end - at));
	return p + (end - at);
}

char *digits_dec_fixed(char *p, uint64_t v, unsigned nr)
{
	for (unsigned i = nr; i > 0; v /= 10)
		p[--i] = (char)('0' + v % 10);
	return p + nr;
}

/* Eight digits, the first in the lowest byte: spreads half bytes to bytes, adds '0', and for those
 * above 9 also the distance from '9' to 'a'. */
static uint64_t eight(uint32_t v)
{
	uint64_t x = v, above_9;

	x = (x << 16 | x) & 0x0000ffff0000ffff;
	x = (x << 8 | x) & 0x00ff00ff00ff00ff;
	x = (x << 4 | x) & 0x0f0f0f0f0f0f0f0f;
	above_9 = (x + 0x0606060606060606) >> 4 & 0x0101010101010101;
	return htobe64(x + 0x3030303030303030 + above_9 * ('a' - '0' - 10));
}

/* Shifts out leading zeros before the store: loading from the middle of a recent store stalls the
 * CPU. */
char *digits_hex(char *p, uint64_t v)
{
	unsigned nr = (67 - (unsigned)__builtin_clzll(v | 1)) / 4;
	uint64_t left = v << (64 - 4 * nr);
	const uint64_t all[] = {eight((uint32_t)(left >> 32)), eight((uint32_t)left)};

	memcpy(p, all, sizeof(all));
	return p + nr;
}
