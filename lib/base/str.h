/*
 * Small questions about text: numbers with bounds, the nearest of some names,
 * durations, globs. All are independent of the locale.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decimal number, digits only, the whole string. 0, -EINVAL (not a number) or -ERANGE. */
int str_parse_u64(const char *s, uint64_t *out);

/* A decimal number at *p, not past end; *p moves past it. 0, -EINVAL or -ERANGE. */
int str_scan_u64(const char **p, const char *end, uint64_t *out);

/* "10" (seconds), "10s", "0.5s", "10ms", "20us", "5ns", "2m", "1h"; *out in nanoseconds.
 * 0, -EINVAL or -ERANGE. */
int str_parse_duration_ns(const char *s, uint64_t *out);

/* The reverse, short and exact enough for people: "10 s", "1.5 s", "500 ms". */
void str_format_duration(uint64_t ns, char *buf, size_t size);

/* The name nearest to s by edit distance, if it is near enough to suggest; else NULL. */
const char *str_nearest(const char *s, const char *const *names, size_t nr);
/* The same one at a time: keeps *best and *best_distance (start with NULL and 0). */
void str_nearest_offer(const char *s, const char *name, const char **best, size_t *best_distance);

/* Shell glob, case-insensitive, over the whole of s; without * ? [ it matches any part of s. */
bool str_glob(const char *pattern, const char *s);

/* The next line of *text, not past end: its start, *stop behind its last byte, *text behind its
 * newline. NULL at the end. */
const char *str_next_line(const char **text, const char *end, const char **stop);

/* Bytes of the visible character that the len bytes begin with; 0 if that is none: not UTF-8, a
 * control character (C0, DEL, C1), or a format character that is invisible and changes how text
 * around it is shown (direction, line and paragraph separators, joiners, tags). */
size_t str_visible(const char *s, size_t len);

/* Puts '?' for each byte of a character of UTF-8 that is not visible, newlines included: for text
 * from outside that is quoted in a message. */
void str_disarm(char *s);

/*
 * Makes text from outside safe to show and to store, in place, its length kept: tab, newline and
 * carriage return become a space (so that JSON stays JSON); every byte of another character that is
 * not visible, NUL and every byte that is not UTF-8 becomes '?'.
 */
void str_clean(char *s, size_t len);
/* As above, but tabs and newlines stay: for text that is read line by line. */
void str_clean_lines(char *s, size_t len);

/* Bytes of the character that the len bytes begin with; 0 if that is none of UTF-8, or NUL. */
size_t str_character(const char *s, size_t len);

/* True if the len bytes are valid UTF-8 without NUL. */
bool str_is_utf8(const char *s, size_t len);

/* 32 lower-case hexadecimal digits of 16 bytes and a NUL. */
void str_hex16(const uint8_t id[16], char out[33]);

#endif
