/*
 * Walks the types up to the requested one: their sizes depend on their kinds.
 */
#include "survey/btf.h"

#include "base/cursor.h"

#include <stdbool.h>
#include <string.h>

enum { BTF_MAGIC_LE = 0xeb9f };

struct sections {
	struct cursor types;
	const char *strings;
	size_t strings_len;
};

/* Bytes that follow the 12 of each type, by BTF_KIND_… of linux/btf.h: once, and per member. */
static const struct {
	uint8_t once, each;
} kinds[] = {
    [1] = {4, 0},   /* INT */
    [2] = {0, 0},   /* PTR */
    [3] = {12, 0},  /* ARRAY */
    [4] = {0, 12},  /* STRUCT */
    [5] = {0, 12},  /* UNION */
    [6] = {0, 8},   /* ENUM */
    [13] = {0, 8},  /* FUNC_PROTO */
    [14] = {4, 0},  /* VAR */
    [15] = {0, 12}, /* DATASEC */
    [17] = {4, 0},  /* DECL_TAG */
    [19] = {0, 12}, /* ENUM64; kinds up to here that are not listed have none */
};

static const uint8_t *find_section(const uint8_t *data, size_t len, uint64_t at, uint32_t section)
{
	return at <= len && section <= len - at ? data + at : NULL;
}

static bool open_sections(struct sections *s, const uint8_t *data, size_t len)
{
	struct cursor c;
	uint32_t head, types, types_len, strings;
	const uint8_t *p;

	cursor_init(&c, data, len);
	if (cursor_le16(&c) != BTF_MAGIC_LE)
		return false;
	cursor_skip(&c, 2); /* version, flags */
	head = cursor_le32(&c);
	types = cursor_le32(&c);
	types_len = cursor_le32(&c);
	strings = cursor_le32(&c);
	s->strings_len = cursor_le32(&c);
	p = find_section(data, len, (uint64_t)head + types, types_len);
	s->strings = (const char *)find_section(data, len, (uint64_t)head + strings,
						(uint32_t)s->strings_len);
	if (!cursor_ok(&c) || !p || !s->strings)
		return false;
	cursor_init(&s->types, p, types_len);
	return true;
}

const char *survey_btf_name(const void *data, size_t len, uint32_t type)
{
	struct sections s;
	uint32_t at = 0;

	if (!open_sections(&s, data, len))
		return NULL;
	for (uint32_t id = 1; id <= type && cursor_ok(&s.types); id++) {
		uint32_t info, kind, nr_members;

		at = cursor_le32(&s.types);
		info = cursor_le32(&s.types);
		kind = info >> 24 & 0x1f;
		nr_members = info & 0xffff;
		cursor_skip(&s.types, 4); /* size or type */
		if (kind >= sizeof(kinds) / sizeof(kinds[0]))
			return NULL; /* of unknown length */
		cursor_skip(&s.types, kinds[kind].once + (size_t)nr_members * kinds[kind].each);
	}
	/* 0: the type has no name */
	if (!cursor_ok(&s.types) || !at || at >= s.strings_len ||
	    !memchr(s.strings + at, '\0', s.strings_len - at))
		return NULL;
	return s.strings + at;
}
