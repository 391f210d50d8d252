/*
 * Fields of tracepoints: lines such as
 *	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
 *	field:__data_loc char[] name;	offset:8;	size:4;	signed:0;
 * Must not trust an offset or a size of them, nor those in the bytes.
 */
#include "profile/fields.h"

#include "base/cursor.h"
#include "base/str.h"

#include <string.h>

#define FIELD "\tfield:"

struct span {
	const char *at, *end;
};

static bool starts_with(struct span s, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(s.end - s.at) >= len && memcmp(s.at, word, len) == 0;
}

static bool has_word(struct span s, const char *word)
{
	return memmem(s.at, (size_t)(s.end - s.at), word, strlen(word)) != NULL;
}

static bool is_word_char(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* The last word of a declaration, before an array's brackets. */
static bool find_name(struct span decl, struct profile_field *f)
{
	const char *end = decl.end, *at;

	if (end > decl.at && end[-1] == ']')
		while (end > decl.at && *--end != '[')
			;
	for (at = end; at > decl.at && is_word_char(at[-1]);)
		at--;
	f->name = at;
	f->name_len = (size_t)(end - at);
	f->is_array = end < decl.end;
	return f->name_len > 0;
}

/* The number after "\tkey:". */
static bool find_number(struct span line, const char *key, uint64_t *out)
{
	size_t len = strlen(key);
	const char *p = memmem(line.at, (size_t)(line.end - line.at), key, len);

	if (!p)
		return false;
	p += len;
	return str_scan_u64(&p, line.end, out) == 0;
}

static bool parse_line(struct span line, struct profile_field *f)
{
	struct span decl = {line.at + strlen(FIELD), line.end};
	uint64_t is_signed = 0;

	if (!starts_with(line, FIELD))
		return false;
	decl.end = memchr(decl.at, ';', (size_t)(line.end - decl.at));
	if (!decl.end || !find_name(decl, f))
		return false;
	f->is_placed = starts_with(decl, "__data_loc ");
	f->is_relative = starts_with(decl, "__rel_loc ");
	f->is_char = starts_with(decl, "char ") || has_word(decl, "_loc char[]");
	(void)find_number(line, "\tsigned:", &is_signed);
	f->is_signed = is_signed;
	return find_number(line, "\toffset:", &f->offset) && find_number(line, "\tsize:", &f->size);
}

bool profile_field_next(const char **format, struct profile_field *out)
{
	const char *end = *format + strlen(*format);
	struct span line;

	while ((line.at = str_next_line(format, end, &line.end))) {
		struct profile_field f = {0};

		if (!parse_line(line, &f))
			continue;
		*out = f;
		return true;
	}
	return false;
}

/* The bytes of a placed field: its offset (if relative, from the end of the field) is in the low
 * half of a word, its length in the high half. */
static struct cursor place(const struct profile_field *f, const uint8_t *raw, size_t len,
			   struct cursor at)
{
	uint32_t word = cursor_le32(&at);
	size_t offset = word & 0xffff, value_len = word >> 16;
	struct cursor c;

	if (f->is_relative)
		offset += (size_t)(at.at - raw);
	cursor_init(&c, raw, len);
	cursor_skip(&c, offset);
	c.underflow |= at.underflow || f->size != sizeof(word) || value_len > c.left;
	c.left = value_len;
	return c;
}

static uint64_t number(const uint8_t *p, unsigned len, bool is_signed)
{
	unsigned unused = 64 - 8 * len;
	uint64_t v = 0;

	for (unsigned i = len; i > 0; i--)
		v = v << 8 | p[i - 1];
	return is_signed ? (uint64_t)((int64_t)(v << unused) >> unused) : v;
}

bool profile_field_value(const struct profile_field *f, const uint8_t *raw, size_t len,
			 struct profile_value *out)
{
	bool is_placed = f->is_placed || f->is_relative;
	bool is_number =
	    !f->is_array && (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8);
	struct profile_value v = {.kind = PROFILE_BYTES, .len = f->size};
	struct cursor c;

	cursor_init(&c, raw, len);
	cursor_skip(&c, f->offset);
	if (is_placed) {
		c = place(f, raw, len, c);
		v.len = c.left;
	}
	v.bytes = cursor_bytes(&c, v.len);
	if (!cursor_ok(&c))
		return false;
	if (is_number && !is_placed) {
		v.kind = PROFILE_NUMBER;
		v.number = number(v.bytes, (unsigned)v.len, f->is_signed);
	} else if (f->is_char) {
		v.kind = PROFILE_TEXT;
		v.len = strnlen((const char *)v.bytes, v.len);
	}
	*out = v;
	return true;
}
