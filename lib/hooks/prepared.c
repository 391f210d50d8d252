#include "hooks/prepared.h"

#include "base/array.h"
#include "elf/file.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

/* What shows each: a function that the file wants of another one, or a section. */
static const struct way {
	enum hooks_prepared bit;
	const char *function[2], *section;
	const char *by;
} ways[] = {
    {HOOKS_PREPARED_CYG, {"__cyg_profile_func_enter"}, NULL, "-finstrument-functions"},
    {HOOKS_PREPARED_FENTRY, {"__fentry__"}, NULL, "-pg -mfentry"},
    {HOOKS_PREPARED_MCOUNT, {"mcount", "_mcount"}, NULL, "-pg"},
    {HOOKS_PREPARED_NOPS, {NULL}, "__patchable_function_entries", "-fpatchable-function-entry"},
    {HOOKS_PREPARED_XRAY, {NULL}, "xray_instr_map", "-fxray-instrument"},
};

static bool is_function(const struct way *w, const char *name, size_t room)
{
	return ARRAY_ANY(f, w->function, ARRAY_NR(w->function),
			 *f && strlen(*f) < room && strcmp(*f, name) == 0);
}

/* The name's end is looked for by its own length: the text may end without a NUL. */
static uint32_t see_symbol(const char *text, size_t room)
{
	uint32_t found = 0;

	if (!memchr(text, '\0', room))
		return 0;
	for (size_t i = 0; i < ARRAY_NR(ways); i++)
		found |= is_function(&ways[i], text, room) ? ways[i].bit : 0;
	return found;
}

static uint32_t see_symbols(const struct elf_file *f, struct elf_section *table)
{
	struct elf_section text;
	uint32_t found = 0;
	Elf64_Sym s;

	if (!elf_file_section(f, table->link, &text) || !elf_file_load(f, table) ||
	    !elf_file_load(f, &text))
		return 0;
	for (size_t at = 0; at + sizeof(s) <= table->size; at += sizeof(s)) {
		memcpy(&s, table->data + at, sizeof(s));
		if (s.st_shndx == SHN_UNDEF && s.st_name && s.st_name < text.size)
			found |=
			    see_symbol((const char *)text.data + s.st_name, text.size - s.st_name);
	}
	return found;
}

uint32_t hooks_prepared(const struct elf_file *f)
{
	struct elf_section s;
	uint32_t found = 0;

	if (!elf_file_is_64(f))
		return 0;
	for (size_t i = 0; i < elf_file_nr_sections(f); i++)
		if (elf_file_section(f, i, &s) && s.type == SHT_DYNSYM && s.is_held)
			found |= see_symbols(f, &s);
	for (size_t i = 0; i < ARRAY_NR(ways); i++)
		if (ways[i].section && elf_file_find_section(f, ways[i].section, &s) && s.size)
			found |= ways[i].bit;
	return found;
}

const char *hooks_prepared_by(uint32_t prepared)
{
	const struct way *w = ARRAY_FIND(x, ways, ARRAY_NR(ways), prepared & x->bit);

	return w ? w->by : "";
}
