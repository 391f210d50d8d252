/*
 * Text utilities, independent of the locale.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decimal number: digits only, the whole string. 0, -EINVAL or -ERANGE. */
int str_parse_u64(const char *s, uint64_t *out);

/* A decimal number at *p, before end; advances *p. 0, -EINVAL or -ERANGE. */
int str_scan_u64(const char **p, const char *end, uint64_t *out);

/* The same of lower-case hexadecimal digits, without "0x", as the kernel writes them. */
int str_scan_hex(const char **p, const char *end, uint64_t *out);

/* "10" (seconds), "10s", "0.5s", "10ms", "20us", "5ns", "2m", "1h"; *out in nanoseconds.
 * 0, -EINVAL or -ERANGE. */
int str_parse_duration_ns(const char *s, uint64_t *out);

/* "65536", "64KiB", "500MiB", "1GiB", "2TiB"; *out in bytes. 0, -EINVAL or -ERANGE. */
int str_parse_bytes(const char *s, uint64_t *out);

/* The reverse of str_parse_duration_ns: "10 s", "1.5 s", "500 ms"; at most three decimals. */
void str_format_duration(uint64_t ns, char *buf, size_t size);

/* The name nearest to s by edit distance; NULL: none is near enough to suggest. */
const char *str_nearest(const char *s, const char *const *names, size_t nr);
/* The same, one name at a time: updates *best and *best_distance (initially NULL and 0). */
void str_nearest_offer(const char *s, const char *name, const char **best, size_t *best_distance);

/* Shell glob over the whole of s, case-insensitive; without * ? [ it matches any part of s. */
bool str_glob(const char *pattern, const char *s);

/* True if s begins with one of the nr texts. */
bool str_begins_with_any(const char *s, const char *const *texts, size_t nr);

/* The length of what s has before its end; 0: s does not end so, or has nothing before. */
size_t str_stem(const char *s, const char *end);

/* What is behind the last slash; all of a path without one. */
const char *str_base_name(const char *path);

/* Returns the line at *text, up to *stop, and advances *text after its newline. NULL at the end. */
const char *str_next_line(const char **text, const char *end, const char **stop);

/* Length of the visible character at s, which has len bytes; 0: invalid UTF-8, a control character
 * (C0, DEL, C1), or an invisible format character that changes how text around it is displayed
 * (direction, line and paragraph separators, joiners, tags). */
size_t str_visible(const char *s, size_t len);

/* Replaces each byte of characters that are not visible, also newlines, and of invalid UTF-8 by
 * '?': for untrusted text in messages. */
void str_disarm(char *s);

/*
 * Sanitises text in place, keeping its length: tab, newline and carriage return become a space (so
 * that JSON stays valid); each byte of other characters that are not visible, NUL and invalid UTF-8
 * become '?'.
 */
void str_clean(char *s, size_t len);
/* The same, except that tabs and newlines stay. */
void str_clean_lines(char *s, size_t len);

/* Length of the UTF-8 character at s, which has len bytes; 0: invalid, or NUL. */
size_t str_character(const char *s, size_t len);

/* How many of the first most bytes of a text are whole UTF-8 characters: all, if it is shorter. */
size_t str_whole(const char *s, size_t most);

/* Valid UTF-8 without NUL. */
bool str_is_utf8(const char *s, size_t len);

/* The form of a word or phrase behind a number. */
static inline const char *str_plural(uint64_t nr, const char *one, const char *many)
{
	return nr == 1 ? one : many;
}

/* 32 lower-case hexadecimal digits and a NUL. */
void str_hex16(const uint8_t id[16], char out[33]);

#endif
