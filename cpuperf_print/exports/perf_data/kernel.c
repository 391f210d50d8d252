/*
 * Uses addresses of functions only: a module's data may be far from its code.
 */
#include "exports/perf_data/kernel.h"

#include "base/buf.h"
#include "base/str.h"
#include "export/perf_record.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { MAX_MODULES = 1 << 16, MAX_NAME_BYTES = 64, PAGE_BYTES = 4096 };

/* "ffffffffc0a01000 t ext4_open	[ext4]" */
struct symbol {
	uint64_t address;
	char type;
	const char *name, *module; /* module NULL: of the kernel itself; with its brackets */
	size_t name_len, module_len;
};

void kernel_init(struct kernel *k)
{
	*k = (struct kernel){0};
	dict_init_texts(&k->modules, sizeof(struct kernel_module), MAX_MODULES,
			(size_t)MAX_MODULES * 2 * MAX_NAME_BYTES);
}

void kernel_fini(struct kernel *k)
{
	dict_fini(&k->modules);
}

static bool parse_address(const char **at, const char *end, uint64_t *out)
{
	const char *p = *at;
	uint64_t v = 0;

	for (; p < end && p - *at < 16; p++) {
		int digit = *p >= '0' && *p <= '9'   ? *p - '0'
			    : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10
						     : -1;

		if (digit < 0)
			break;
		v = v << 4 | (uint64_t)digit;
	}
	*out = v;
	*at = p;
	return v && p < end && *p == ' ';
}

static bool parse(const char *line, const char *end, struct symbol *out)
{
	struct symbol s = {0};
	const char *tab;

	if (!parse_address(&line, end, &s.address) || end - line < 4 || line[2] != ' ')
		return false;
	s.type = line[1];
	s.name = line + 3;
	tab = memchr(s.name, '\t', (size_t)(end - s.name));
	s.name_len = (size_t)((tab ? tab : end) - s.name);
	if (tab) {
		s.module = tab + 1;
		s.module_len = (size_t)(end - s.module);
	}
	*out = s;
	return true;
}

/* BPF programs and similar code have records of their own. */
static bool is_module(const struct symbol *s)
{
	return s->module_len > 2 && s->module_len <= MAX_NAME_BYTES && s->module[0] == '[' &&
	       !(s->module_len == 5 && memcmp(s->module, "[bpf]", 5) == 0) &&
	       !memmem(s->module, s->module_len, "[__builtin", 10);
}

static int add_of_module(struct kernel *k, const struct symbol *s)
{
	struct kernel_module *m;
	uint32_t number;

	if (!is_module(s))
		return 0;
	number = dict_add_text(&k->modules, s->module, s->module_len);
	if (number == DICT_NONE)
		return k->modules.nr == MAX_MODULES ? 0 : -ENOMEM;
	m = dict_at(&k->modules, number);
	m->first = !m->last || s->address < m->first ? s->address : m->first;
	m->last = s->address > m->last ? s->address : m->last;
	return 0;
}

static bool is_named(const struct symbol *s, const char *name)
{
	return s->name_len == strlen(name) && memcmp(s->name, name, s->name_len) == 0;
}

static int add_symbol(struct kernel *k, const struct symbol *s)
{
	if (s->type != 't' && s->type != 'T')
		return 0;
	if (s->module)
		return add_of_module(k, s);
	if (is_named(s, "_text"))
		k->text = s->address;
	if (is_named(s, "_stext"))
		k->stext = s->address;
	if (s->address > k->last)
		k->last = s->address;
	return 0;
}

int kernel_take(struct kernel *k, const char *text, size_t len)
{
	const char *at = text, *end = text + len, *line, *stop;
	struct symbol s;
	int rc = 0;

	while (rc == 0 && (line = str_next_line(&at, end, &stop)))
		if (parse(line, stop, &s))
			rc = add_symbol(k, &s);
	return rc;
}

/* Ends at the end of the page in which the last function begins, since its size is unknown. */
static void put_range(struct buf *out, uint64_t first, uint64_t last, uint64_t offset,
		      const char *name, uint64_t id)
{
	uint64_t end = (last | (PAGE_BYTES - 1)) - first;
	const struct perf_kernel_range r = {
	    .start = first, .len = end + 1 ? end + 1 : end, .offset = offset, .name = name};

	perf_record_kernel(out, &r, id);
}

void kernel_put(const struct kernel *k, struct buf *out, uint64_t id)
{
	uint64_t start = k->text ? k->text : k->stext;

	if (start && k->last >= start)
		put_range(out, start, k->last, start,
			  k->text ? "[kernel.kallsyms]_text" : "[kernel.kallsyms]_stext", id);
	for (uint32_t i = 0; i < k->modules.nr; i++) {
		const struct kernel_module *m = dict_at(&k->modules, i);

		put_range(out, m->first & ~(uint64_t)(PAGE_BYTES - 1), m->last, 0, m->name, id);
	}
}
