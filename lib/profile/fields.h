/*
 * Decodes the raw bytes of a tracepoint's samples by its fields, as tracefs describes them. Reads
 * text and bytes, opens nothing. Source: Documentation/trace/events.rst, "Event formats".
 */
#ifndef PROFILE_FIELDS_H
#define PROFILE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One field; name points into the format. */
struct profile_field {
	const char *name;
	size_t name_len;
	uint64_t offset, size; /* in the raw bytes; not checked */
	bool is_signed;
	bool is_array;               /* else a number, if its size is that of an integer */
	bool is_char;                /* an array of characters is text */
	bool is_placed, is_relative; /* __data_loc, __rel_loc: the word at offset contains position
					and length */
};

/* The next field of *format ("\tfield:…" lines; others are skipped); *format moves past it. False
 * after the last. */
bool profile_field_next(const char **format, struct profile_field *out);

struct profile_value {
	enum { PROFILE_NUMBER, PROFILE_TEXT, PROFILE_BYTES } kind;
	uint64_t number;      /* sign-extended if the field is signed */
	const uint8_t *bytes; /* a text up to its NUL, or bytes; not cleaned */
	size_t len;
};

/* The value of a field in raw bytes. False if it is not within them. */
bool profile_field_value(const struct profile_field *f, const uint8_t *raw, size_t len,
			 struct profile_value *out);

#endif
