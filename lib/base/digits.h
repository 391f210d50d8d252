/*
 * Numbers to digits without printf: reports write tens of millions of them. Writes no NUL; returns
 * the end of the digits.
 */
#ifndef BASE_DIGITS_H
#define BASE_DIGITS_H

#include <stdint.h>

/* Room required at p: more than the digits may be written. */
enum { DIGITS_ROOM = 24 };

/* Decimal. */
char *digits_dec(char *p, uint64_t v);
/* Exactly nr (at most 20) digits, with leading zeros; higher digits are dropped. */
char *digits_dec_fixed(char *p, uint64_t v, unsigned nr);
/* Lower-case hexadecimal, without "0x". */
char *digits_hex(char *p, uint64_t v);

#endif
