/*
 * A walk over the types, each as long as its kind says, to the one that is asked for. Must not know
 * whose types they are.
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

/* BTF_KIND_… of linux/btf.h: what follows the 12 bytes of each type, once and for each member. */
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
    [19] = {0, 12}, /* ENUM64; all others up to here: nothing */
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

/* Passes over the type; the place of its name. */
static uint32_t next_type(struct cursor *c)
{
	uint32_t name = cursor_le32(c), info = cursor_le32(c);
	uint32_t kind = info >> 24 & 0x1f, nr_members = info & 0xffff;

	cursor_skip(c, 4); /* size or type */
	if (kind < sizeof(kinds) / sizeof(kinds[0]))
		cursor_skip(c, kinds[kind].once + (size_t)nr_members * kinds[kind].each);
	else
		cursor_skip(c, SIZE_MAX); /* who knows how long it is */
	return name;
}

const char *survey_btf_name(const void *data, size_t len, uint32_t type)
{
	struct sections s;
	uint32_t at = 0;

	if (!open_sections(&s, data, len))
		return NULL;
	for (uint32_t id = 1; id <= type && cursor_ok(&s.types); id++)
		at = next_type(&s.types);
	/* 0: the empty string, of a type that has none */
	if (!cursor_ok(&s.types) || !at || at >= s.strings_len ||
	    !memchr(s.strings + at, '\0', s.strings_len - at))
		return NULL;
	return s.strings + at;
}
