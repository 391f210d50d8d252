/*
 * Kinds of records, the parts of samples, and their fields: one table of each, by which all forms
 * write them. A line is a text with fields in it: %s or, in hexadecimal, %#s, by the letters of
 * records_fields.c.
 */
#ifndef REPORT_RECORDS_FIELDS_H
#define REPORT_RECORDS_FIELDS_H

#include "profile/records.h"

struct buf;
struct profile_field;
struct profile_value;

/* A record or reading, and what of its line is the form's own. */
struct records_line {
	const struct profile_item *item;
	struct buf *out;
	const char *unknown;   /* a pid or tid that is not known */
	const char *separator; /* before a name */
	/* Writes a field whose letter has no row. */
	void (*own)(const struct records_line *l, char letter);
	const void *arg;
};

/* A kind of record, or of records that differ by a field. */
struct records_kind {
	uint32_t kind;
	bool (*is)(const struct trace_record *r); /* NULL: all */
	const char *name;                         /* in rows; NULL: unknown */
	uint64_t columns;                         /* bits of enum records_column */
	const char *text, *raw;                   /* its line; in the raw format */
};

/* A part that a sample may have. */
struct records_part {
	uint32_t has; /* TRACE_HAS_… */
	uint64_t columns;
	const char *text, *raw; /* of its line; NULL: nothing */
};
enum { RECORDS_NR_PARTS = 13 };
extern const struct records_part records_parts[RECORDS_NR_PARTS];

/* The row of a record; samples and unknown kinds have one together. Never NULL. */
const struct records_kind *records_kind_of(const struct trace_record *r);
/* Writes a text with its fields. Names are sanitised. */
void records_put_line(const struct records_line *l, const char *text);
/* Adds the value of a tracepoint's field: a number, text, or the digits of bytes. */
void records_add_value(const struct profile_field *f, const struct profile_value *v,
		       struct buf *out);
/* "r-xp": as /proc/PID/maps shows the rights of a mapping. Of five bytes. */
void records_rights(const struct trace_record *r, char *out);

#endif
