/*
 * Of a file of one unit, which may have units of types beside it.
 */
#include "elf/split.h"

#include "elf/dwarf_image.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

/* Those that a query of functions needs. The files that it names are those of the skeleton's table
 * of lines. */
static const char *const wanted[] = {
    ".debug_info.dwo",        ".debug_abbrev.dwo",   ".debug_str.dwo",
    ".debug_str_offsets.dwo", ".debug_rnglists.dwo",
};

/* The unit itself, and not one of types, which have sections of their own before it. */
static bool is_compile_unit(const struct elf_section *s)
{
	enum { VERSION_AT = 4, TYPE_AT = 6, FIRST_WITH_TYPE = 5 };

	return s->size > TYPE_AT &&
	       (s->data[VERSION_AT] < FIRST_WITH_TYPE || s->data[TYPE_AT] == DW_UT_split_compile);
}

static void add_section(struct dwarf_image *m, const char *name, const struct elf_section *s)
{
	struct dwarf_image_part part = {.data = s->data, .len = s->size}, *same;

	same = dwarf_image_find(m, name);
	if (!same) {
		dwarf_image_add(m, name, &part);
	} else if (is_compile_unit(s)) {
		part.name = same->name;
		*same = part;
	}
}

static void add_sections(struct dwarf_image *m, const struct elf_file *dwo)
{
	struct elf_section s;

	for (size_t i = 0; i < elf_file_nr_sections(dwo); i++) {
		const char *name;

		if (!elf_file_section(dwo, i, &s) || !s.is_held || !s.size)
			continue;
		name = elf_section_name_in(&s, wanted, sizeof(wanted) / sizeof(wanted[0]));
		if (name && elf_file_load(dwo, &s))
			add_section(m, name, &s);
	}
}

int elf_split_open(const struct elf_file *dwo, const struct elf_split_lent *lent,
		   struct elf_dwarf *out)
{
	struct dwarf_image m = {.names_len = 1};

	add_sections(&m, dwo);
	return dwarf_image_open(&m, dwo, lent, out);
}
