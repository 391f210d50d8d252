/*
 * The description of the program begins with the address of the table, and has those of its parts.
 * Where a linker left words to the dynamic linker, they are in relocations. Searches are bounded,
 * and what is found is compared with ten words.
 */
#include "base/array.h"
#include "elf/file.h"
#include "elf/layout.h"
#include "elf/pclntab_internal.h"

#include <elf.h>

enum {
	MAX_RELOCATIONS = 1 << 22, /* of all sections together */
	MAX_DATA_BYTES = 64 << 20,
	MAX_CANDIDATES = 8,
	/* Words of the description. A part has an address, its length, and that again. */
	PARTS = 8,
	PART_BYTES = 24,
	FUNCTIONS_LEN = 136,
	BEGIN = 160,
};

/* --- words that are relocated --- */

typedef bool found_fn(void *arg, uint64_t at, uint64_t value);

/* Calls found for each word that will be an address of the program itself, until it is true. */
static void search_relocations(const struct elf_file *f, found_fn *found, void *arg)
{
	const bool is_x86 = elf_file_machine(f) == EM_X86_64;
	const uint32_t relative = is_x86 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE;
	size_t left = MAX_RELOCATIONS;
	struct elf_section s;

	for (size_t i = 0; i < elf_file_nr_sections(f) && left; i++) {
		size_t nr;

		if (!elf_file_section(f, i, &s) || s.type != SHT_RELA || !(s.flags & SHF_ALLOC) ||
		    !elf_file_load(f, &s))
			continue;
		nr = s.size / sizeof(Elf64_Rela) < left ? s.size / sizeof(Elf64_Rela) : left;
		left -= nr;
		for (const uint8_t *p = s.data; nr--; p += sizeof(Elf64_Rela))
			if ((uint32_t)elf_load(p + 8, 8) == relative &&
			    found(arg, elf_load(p, 8), elf_load(p + 16, 8)))
				return;
	}
}

struct wanted_word {
	uint64_t address;
	uint64_t *out;
};

static bool is_wanted(void *arg, uint64_t at, uint64_t value)
{
	const struct wanted_word *w = arg;

	if (at != w->address)
		return false;
	*w->out = value;
	return true;
}

bool elf_pclntab_word(const struct elf_file *f, uint64_t address, uint64_t *out)
{
	struct wanted_word w = {address, out};
	size_t len;
	const uint8_t *p = elf_file_bytes(f, address, 8, &len);

	if (!p || len < 8)
		return false;
	*out = elf_load(p, 8);
	if (!*out)
		search_relocations(f, is_wanted, &w);
	return true;
}

/* --- the description --- */

struct module_search {
	const struct elf_pclntab *t;
	size_t nr_candidates;
	uint64_t address; /* 0: not found yet */
};

static bool is_word(const struct elf_pclntab *t, uint64_t address, uint64_t value)
{
	uint64_t word;

	return elf_pclntab_word(t->file, address, &word) && word == value;
}

static bool has_parts(const struct elf_pclntab *t, uint64_t at)
{
	const struct elf_pclntab_part *const parts[] = {&t->names,  &t->units,   &t->files,
							&t->values, &t->records, &t->functions};

	for (size_t i = 0; i < ARRAY_NR(parts); i++)
		if (!is_word(t, at + PARTS + PART_BYTES * i,
			     t->address + (uint64_t)(parts[i]->data - t->all.data)))
			return false;
	return is_word(t, at + FUNCTIONS_LEN, t->nr + 1);
}

static bool is_module(const struct elf_pclntab *t, uint64_t at)
{
	uint64_t text;

	return at <= UINT64_MAX - ELF_PCLNTAB_MODULE_BYTES && is_word(t, at, t->address) &&
	       has_parts(t, at) && elf_pclntab_word(t->file, at + ELF_PCLNTAB_MODULE_TEXT, &text) &&
	       is_word(t, at + BEGIN, text + (elf_pclntab_start(t, 0) - t->text)) &&
	       (!t->text || t->text == text);
}

/* True: the search is over. */
static bool try_candidate(struct module_search *s, uint64_t at)
{
	if (is_module(s->t, at))
		s->address = at;
	return s->address || ++s->nr_candidates == MAX_CANDIDATES;
}

static bool is_of_table(void *arg, uint64_t at, uint64_t value)
{
	struct module_search *s = arg;

	return value == s->t->address && try_candidate(s, at);
}

/* Where the address of the table is in a section with data. True: the search is over. */
static bool search_data(struct module_search *s, const char *name)
{
	struct elf_section data;

	if (!elf_file_find_section(s->t->file, name, &data) || data.size > MAX_DATA_BYTES ||
	    !elf_file_load(s->t->file, &data))
		return false;
	for (uint64_t at = 0; at + 8 <= data.size; at += 8)
		if (elf_load(data.data + at, 8) == s->t->address &&
		    try_candidate(s, data.address + at))
			return true;
	return false;
}

uint64_t elf_pclntab_module(const struct elf_pclntab *t, bool only_named)
{
	struct module_search s = {.t = t};
	struct elf_section named;

	if (elf_file_find_section(t->file, ".go.module", &named))
		return is_module(t, named.address) ? named.address : 0;
	if (!only_named && !search_data(&s, ".noptrdata") && !search_data(&s, ".data"))
		search_relocations(t->file, is_of_table, &s);
	return s.address;
}
