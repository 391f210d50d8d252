/*
 * Any text as /proc/kallsyms, as a map of code made at run time, and as a name to demangle. Spans
 * are in order and apart; names end, and hold nothing that a terminal obeys once they are shown.
 */
#include "base/mem.h"
#include "elf/demangle.h"
#include "symbol/text_symbols.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void check(const struct symbol_text *s)
{
	char name[SYMBOL_TEXT_MAX_NAME_BYTES];

	for (size_t i = 0; i < s->table.nr_spans; i++) {
		const struct symbol_span span = symbol_table_span(&s->table, i);
		const struct symbol_entry *e = &s->table.entry[span.entry];

		require(span.start < span.end);
		require(i == 0 || symbol_table_span(&s->table, i - 1).end <= span.start);
		require(e->is_nameless ||
			symbol_table_find(&s->table, span.start) == (ptrdiff_t)span.entry);
		symbol_text_name(s, e, name);
		require(!strchr(name, '\n') && strlen(name) < sizeof(name));
		require(e->group < s->nr_groups);
	}
}

static void check_name(const char *text, size_t size)
{
	char name[ELF_MAX_NAME_BYTES], *copy = mem_alloc(size + 1);

	require(copy != NULL);
	memcpy(copy, text, size);
	copy[size] = '\0';
	elf_demangle(copy, name);
	require(strlen(name) < sizeof(name));
	mem_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_text s;

	require(symbol_text_parse_kallsyms((const char *)data, size, &s) == 0);
	check(&s);
	symbol_text_fini(&s);
	require(symbol_text_parse_map((const char *)data, size, &s) == 0);
	check(&s);
	symbol_text_fini(&s);
	check_name((const char *)data, size);
	return 0;
}
