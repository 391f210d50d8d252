/*
 * A hand-written parser: a kernel has 200,000 symbols, which each report reads.
 */
#include "symbol/text_symbols.h"

#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

/* The digit + 1; 0: not a digit. */
static const uint8_t digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Reads 1 to 16 hexadecimal digits and a space; advances *p. */
static bool scan_hex(const char **p, const char *end, uint64_t *out)
{
	const char *at = *p, *most = end - at > 16 ? at + 16 : end;
	uint64_t v = 0;

	while (at < most && digits[(uint8_t)*at])
		v = v << 4 | (digits[(uint8_t)*at++] - 1u);
	if (at == *p || at == end || *at != ' ')
		return false;
	*p = at + 1;
	*out = v;
	return true;
}

/* Ranks global before weak before local. Other symbols only end functions. */
static bool is_function(char type, uint8_t *rank)
{
	switch (type) {
	case 'T':
		*rank = 0;
		return true;
	case 'W':
	case 'w':
		*rank = 1;
		return true;
	case 't':
		*rank = 2;
		return true;
	default:
		*rank = 3;
		return false;
	}
}

static bool is_group(const struct symbol_text *s, size_t i, const char *name, uint32_t len)
{
	return s->group[i].len == len && memcmp(s->text + s->group[i].at, name, len) == 0;
}

/* The group of a module. Its lines are adjacent, so tries the last one first. */
static int find_group(struct symbol_text *s, const char *name, uint32_t len, uint16_t *out)
{
	struct symbol_text_piece *p;
	size_t i = s->nr_groups - 1;

	if (!is_group(s, i, name, len))
		for (i = 0; i < s->nr_groups && !is_group(s, i, name, len);)
			i++;
	if (i == SYMBOL_TEXT_MAX_GROUPS)
		i = 0;
	if (i == s->nr_groups) {
		p = MEM_ADD(s->group, s->nr_groups, s->groups_room);
		if (!p)
			return -ENOMEM;
		*p = (struct symbol_text_piece){(uint32_t)(name - s->text), len};
	}
	*out = (uint16_t)i;
	return 0;
}

static bool scan_kernel(const char **line, const char *end, uint64_t *address)
{
	return scan_hex(line, end, address) && end - *line >= 3 && (*line)[1] == ' ';
}

bool symbol_text_is_kallsyms(const char *text, size_t len)
{
	const char *end = text + len, *line, *stop;
	uint64_t address;

	while ((line = str_next_line(&text, end, &stop)))
		if (scan_kernel(&line, stop, &address))
			return true;
	return false;
}

/* "address type name", possibly with "\t[module]". */
static int add_kernel(struct symbol_text *s, const char *line, const char *end)
{
	struct symbol_entry e = {.size = SYMBOL_TEXT_MAX_KERNEL_BYTES, .is_open = true};
	const char *tab;
	int rc = 0;

	if (!scan_kernel(&line, end, &e.start))
		return 0;
	s->has_lines = true;
	if (!e.start)
		return 0;
	s->has_addresses = true;
	e.is_nameless = !is_function(*line, &e.rank);
	line += 2;
	e.name = (uint32_t)(line - s->text);
	tab = end[-1] == ']' ? memchr(line, '\t', (size_t)(end - line)) : NULL;
	if (tab)
		rc = find_group(s, tab + 1, (uint32_t)(end - tab - 1), &e.group);
	return rc ? rc : symbol_table_add(&s->table, &e);
}

/* "start size name", hexadecimal, possibly with 0x. */
static int add_mapped(struct symbol_text *s, const char *line, const char *end)
{
	struct symbol_entry e = {.rank = 0};
	uint64_t size;

	if (end - line > 2 && line[0] == '0' && line[1] == 'x')
		line += 2;
	if (!scan_hex(&line, end, &e.start))
		return 0;
	if (end - line > 2 && line[0] == '0' && line[1] == 'x')
		line += 2;
	if (!scan_hex(&line, end, &size) || line == end)
		return 0;
	s->has_lines = true;
	e.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
	e.name = (uint32_t)(line - s->text);
	return symbol_table_add(&s->table, &e);
}

typedef int add_fn(struct symbol_text *s, const char *line, const char *end);

static size_t name_len(const struct symbol_text *s, uint32_t at)
{
	const char *name = s->text + at;
	size_t len = 0;

	while (len < SYMBOL_TEXT_MAX_NAME_BYTES - 1 && at + len < s->len && name[len] != '\n' &&
	       name[len] != '\t' && name[len] != '\0')
		len++;
	return len;
}

/* What a system call of 32-bit programs runs is often what others run: its name is the other one.
 */
static bool is_of_32_bits(const struct symbol_text *s, uint32_t at)
{
	static const char prefix[] = "__ia32_";

	return s->len - at >= sizeof(prefix) &&
	       memcmp(s->text + at, prefix, sizeof(prefix) - 1) == 0;
}

static int prefer_kernel(const void *arg, const struct symbol_entry *a,
			 const struct symbol_entry *b)
{
	const struct symbol_text *s = arg;
	int rc = is_of_32_bits(s, a->name) - is_of_32_bits(s, b->name);

	return rc
		   ?: symbol_compare_names(s->text + a->name, name_len(s, a->name),
					   s->text + b->name, name_len(s, b->name));
}

static int parse(const char *text, size_t len, add_fn *add, symbol_prefer_fn *prefer,
		 struct symbol_text *out)
{
	struct symbol_text s = {.text = text,
				.len = len < SYMBOL_TEXT_MAX_BYTES ? len : SYMBOL_TEXT_MAX_BYTES};
	struct symbol_text_piece *none = MEM_ADD(s.group, s.nr_groups, s.groups_room);
	const char *at = text, *line, *stop;
	int rc = 0;

	if (!none)
		return -ENOMEM;
	*none = (struct symbol_text_piece){0};
	while (rc == 0 && (line = str_next_line(&at, text + s.len, &stop)))
		rc = add(&s, line, stop);
	if (rc == 0)
		rc = symbol_table_seal(&s.table, prefer, &s);
	if (rc)
		symbol_text_fini(&s);
	else
		*out = s;
	return rc;
}

int symbol_text_parse_kallsyms(const char *text, size_t len, struct symbol_text *out)
{
	return parse(text, len, add_kernel, prefer_kernel, out);
}

int symbol_text_parse_map(const char *text, size_t len, struct symbol_text *out)
{
	return parse(text, len, add_mapped, NULL, out);
}

void symbol_text_fini(struct symbol_text *s)
{
	symbol_table_fini(&s->table);
	mem_free(s->group);
	*s = (struct symbol_text){.text = NULL};
}

void symbol_text_name(const struct symbol_text *s, const struct symbol_entry *e,
		      char out[SYMBOL_TEXT_MAX_NAME_BYTES])
{
	size_t len = name_len(s, e->name);

	memcpy(out, s->text + e->name, len);
	out[len] = '\0';
}
