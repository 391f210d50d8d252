/*
 * Lines to entries, by hand: a kernel has 200,000 of them, and they are read for each report.
 */
#include "symbol/text_symbols.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>

/* One more than the digit; 0: none. */
static const uint8_t digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* 1 … 16 hexadecimal digits at p, which moves past them and one space. */
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

/* Global functions before weak ones before local ones; what is no function ends others. */
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

static bool is_group(const struct text_symbols *s, size_t i, const char *name, uint32_t len)
{
	return s->group[i].len == len && memcmp(s->text + s->group[i].at, name, len) == 0;
}

/* The number of a module; its lines stand together, so the last is the likely one. */
static int find_group(struct text_symbols *s, const char *name, uint32_t len, uint16_t *out)
{
	struct text_piece *p;
	size_t i = s->nr_groups - 1;

	if (!is_group(s, i, name, len))
		for (i = 0; i < s->nr_groups && !is_group(s, i, name, len);)
			i++;
	if (i == TEXT_SYMBOLS_MAX_GROUPS)
		i = 0;
	if (i == s->nr_groups) {
		p = mem_grow(s->group, s->nr_groups, &s->groups_room, sizeof(*p));
		if (!p)
			return -ENOMEM;
		s->group = p;
		p[s->nr_groups++] = (struct text_piece){(uint32_t)(name - s->text), len};
	}
	*out = (uint16_t)i;
	return 0;
}

static bool scan_kernel(const char **line, const char *end, uint64_t *address)
{
	return scan_hex(line, end, address) && end - *line >= 3 && (*line)[1] == ' ';
}

bool text_symbols_is_kallsyms(const char *text, size_t len)
{
	const char *end = text + len;
	bool is_there = false;

	while (text < end && !is_there) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		uint64_t address;

		stop = stop ? stop : end;
		is_there = stop > text && scan_kernel(&text, stop, &address);
		text = stop + 1;
	}
	return is_there;
}

/* "address type name", perhaps "\t[module]"; line is not empty. */
static int add_kernel(struct text_symbols *s, const char *line, const char *end)
{
	struct symbol_entry e = {.size = TEXT_SYMBOLS_MAX_KERNEL_BYTES, .is_open = true};
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

/* "start size name", both hexadecimal, perhaps with 0x before. */
static int add_mapped(struct text_symbols *s, const char *line, const char *end)
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

typedef int add_fn(struct text_symbols *s, const char *line, const char *end);

static int add_lines(struct text_symbols *s, add_fn *add)
{
	const char *line = s->text, *end = s->text + s->len;
	int rc = 0;

	while (line < end && rc == 0) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		if (!stop)
			stop = end;
		rc = add(s, line, stop);
		line = stop + 1;
	}
	return rc;
}

static bool is_name_end(char c)
{
	return c == '\n' || c == '\t' || c == '\0';
}

static size_t name_len(const struct text_symbols *s, uint32_t at)
{
	size_t len = 0;

	while (len < TEXT_SYMBOLS_MAX_NAME_BYTES - 1 && at + len < s->len &&
	       !is_name_end(s->text[at + len]))
		len++;
	return len;
}

static size_t underscores(const char *name, size_t len)
{
	size_t n = 0;

	while (n < len && name[n] == '_')
		n++;
	return n;
}

static int prefer_kernel(const void *arg, const struct symbol_entry *a,
			 const struct symbol_entry *b)
{
	const struct text_symbols *s = arg;
	const char *x = s->text + a->name, *y = s->text + b->name;
	size_t len_x = name_len(s, a->name), len_y = name_len(s, b->name);
	size_t bars_x = underscores(x, len_x), bars_y = underscores(y, len_y);
	int order;

	if (bars_x != bars_y)
		return bars_x < bars_y ? -1 : 1;
	order = memcmp(x, y, len_x < len_y ? len_x : len_y);
	return order ? order : len_x < len_y ? -1 : len_x > len_y;
}

static int parse(const char *text, size_t len, add_fn *add, symbol_prefer_fn *prefer,
		 struct text_symbols *out)
{
	struct text_symbols s = {
	    .text = text, .len = len < TEXT_SYMBOLS_MAX_BYTES ? len : TEXT_SYMBOLS_MAX_BYTES};
	int rc;

	s.group = mem_grow(NULL, 0, &s.groups_room, sizeof(*s.group));
	if (!s.group)
		return -ENOMEM;
	s.group[s.nr_groups++] = (struct text_piece){0};
	rc = add_lines(&s, add);
	if (rc == 0)
		rc = symbol_table_seal(&s.table, prefer, &s);
	if (rc)
		text_symbols_fini(&s);
	else
		*out = s;
	return rc;
}

int text_symbols_parse_kallsyms(const char *text, size_t len, struct text_symbols *out)
{
	return parse(text, len, add_kernel, prefer_kernel, out);
}

int text_symbols_parse_map(const char *text, size_t len, struct text_symbols *out)
{
	return parse(text, len, add_mapped, NULL, out);
}

void text_symbols_fini(struct text_symbols *s)
{
	symbol_table_fini(&s->table);
	mem_free(s->group);
	*s = (struct text_symbols){.text = NULL};
}

void text_symbols_name(const struct text_symbols *s, const struct symbol_entry *e,
		       char out[TEXT_SYMBOLS_MAX_NAME_BYTES])
{
	size_t len = name_len(s, e->name);

	memcpy(out, s->text + e->name, len);
	out[len] = '\0';
}
