/*
 * Numbers to digits, without printf: reports write tens of millions of them. No NUL is written;
 * each returns where its digits end.
 */
#ifndef BASE_DIGITS_H
#define BASE_DIGITS_H

#include <stdint.h>

/* Room that must be at p: a few more bytes than the digits may be written. */
enum { DIGITS_ROOM = 24 };

/* Decimal. */
char *digits_dec(char *p, uint64_t v);
/* Exactly nr (at most 20) digits, zeros in front; what does not fit is left out. */
char *digits_dec_fixed(char *p, uint64_t v, unsigned nr);
/* Lower-case hexadecimal, without "0x". */
char *digits_hex(char *p, uint64_t v);

#endif
