/*
 * The list of errors in the order of the text, and the common phrases.
 */
#include "spec/diag.h"

#include "base/str.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_BYTES = 48 };

struct err *diag_at(struct err_list *errs, const char *source, struct spec_pos pos, const char *fmt,
		    ...)
{
	struct err e = {.code = 0};
	char msg[sizeof(e.msg)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	err_set_at(&e, -EINVAL, source, pos.line, pos.column, "%s", msg);
	return err_list_insert(errs, &e);
}

int diag_no_memory(struct err_list *errs, const char *source)
{
	struct err e = {.code = 0};

	err_set_at(&e, -ENOMEM, source, 0, 0, "out of memory");
	err_list_insert(errs, &e);
	return -ENOMEM;
}

size_t diag_count(const struct err_list *errs)
{
	return errs->nr + errs->dropped;
}

int diag_cut(const char *s)
{
	return (int)str_whole(s, SHOWN_BYTES);
}

void diag_string(const char *s, char *buf, size_t size)
{
	int cut = diag_cut(s);

	snprintf(buf, size, "the string \"%.*s%s\"", cut, s, s[cut] ? "…" : "");
}

void diag_value(const json_t *value, char *buf, size_t size)
{
	static const char *const names[] = {
	    [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_TRUE] = "true",
	    [JSON_FALSE] = "false",      [JSON_NULL] = "null",
	};

	if (json_is_string(value))
		diag_string(json_string_value(value), buf, size);
	else if (json_is_integer(value))
		snprintf(buf, size, "the number %" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		snprintf(buf, size, "the decimal number %.15g", json_real_value(value));
	else
		snprintf(buf, size, "%s", names[json_typeof(value)]);
}

static void show_length(const struct key_row *row, char *buf, size_t size)
{
	if (row->min)
		snprintf(buf, size, "a string of %" PRIu64 " to %" PRIu64 " bytes", row->min,
			 row->max);
	else
		snprintf(buf, size, "a string of at most %" PRIu64 " bytes%s%s", row->max,
			 row->suffix ? ", empty or ending in " : "",
			 row->suffix ? row->suffix : "");
}

static void show_range(const struct key_row *row, char *buf, size_t size)
{
	const char *type = key_has_decimals(row) ? "a number" : "an integer";
	char min[32];
	int len;

	snprintf(min, sizeof(min), "%" PRIu64, row->min);
	len = snprintf(buf, size, "%s from %s to %" PRIu64 "%s%s", type,
		       row->min_text ? row->min_text : min, row->max, row->unit ? " " : "",
		       row->unit ? row->unit : "");
	if (row->step && (size_t)len < size)
		snprintf(buf + len, size - (size_t)len, " and a multiple of %" PRIu64, row->step);
}

void diag_words(const struct key_row *row, char *buf, size_t size)
{
	int len = 0;

	for (size_t i = 0; row->words[i] && (size_t)len < size; i++) {
		const char *separator = row->words[i + 1] ? ", " : " and ";

		len += snprintf(buf + len, size - (size_t)len, "%s%s", i ? separator : "",
				row->words[i]);
	}
}

void diag_wanted(const struct key_row *row, char *buf, size_t size)
{
	switch (row->type) {
	case KEY_STRING:
	case KEY_NAME:
		show_length(row, buf, size);
		break;
	case KEY_INTEGER:
	case KEY_SECONDS:
	case KEY_PERCENT:
		show_range(row, buf, size);
		break;
	case KEY_WORD:
		snprintf(buf, size, "%s", row->form);
		break;
	case KEY_HEX:
		snprintf(buf, size, "%" PRIu64 " hexadecimal digits", row->max);
		break;
	case KEY_FLAGS:
		snprintf(buf, size, "an array of %ss", row->item);
		break;
	case KEY_CHOICE:
		snprintf(buf, size, "an array of %llu to %llu %s", (unsigned long long)row->min,
			 (unsigned long long)row->max,
			 row->has_numbers ? "numbers and names" : "names");
		break;
	case KEY_LIST:
		snprintf(buf, size, "an array of %llu to %llu %s", (unsigned long long)row->min,
			 (unsigned long long)row->max, row->has_numbers ? "numbers" : "strings");
		break;
	case KEY_REAL:
		snprintf(buf, size, "a number");
		break;
	case KEY_BOOL:
		snprintf(buf, size, "true or false");
		break;
	case KEY_DEFAULTS:
	case KEY_OBJECT:
		snprintf(buf, size, "%san object", row->is_switch ? "true, false or " : "");
		break;
	case KEY_EVENTS:
		snprintf(buf, size, "an array of events");
		break;
	case KEY_METRICS:
		snprintf(buf, size, "an array of metrics");
		break;
	case KEY_OBJECTS:
		snprintf(buf, size, "an array of at most %llu %ss", (unsigned long long)row->max,
			 row->item);
		break;
	}
}

bool diag_is_escaped(char c)
{
	return c == '"' || c == '\\';
}

struct spec_pos diag_within(struct spec_pos pos, const char *s, bool has_escapes, size_t offset)
{
	if (has_escapes)
		return pos;
	pos.column++; /* the quote */
	for (size_t i = 0; i < offset; i++)
		pos.column += (((unsigned char)s[i] & 0xc0) != 0x80) + diag_is_escaped(s[i]);
	return pos;
}
