/*
 * Of a file of one unit, which may have units of types beside it.
 */
#include "elf/split.h"

#include "elf/split_image.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

/* Those that a query of functions needs. The files that it names are those of the skeleton's table
 * of lines. */
static bool is_wanted(const char *name)
{
	static const char *const wanted[] = {
	    "info.dwo", "abbrev.dwo", "str.dwo", "str_offsets.dwo", "rnglists.dwo",
	};
	size_t i = 0;

	if (strncmp(name, ".debug_", 7) != 0)
		return false;
	while (i < sizeof(wanted) / sizeof(wanted[0]) && strcmp(wanted[i], name + 7) != 0)
		i++;
	return i < sizeof(wanted) / sizeof(wanted[0]);
}

/* The unit itself, and not one of types, which have sections of their own before it. */
static bool is_compile_unit(const struct elf_section *s)
{
	enum { VERSION_AT = 4, TYPE_AT = 6, FIRST_WITH_TYPE = 5 };

	return s->size > TYPE_AT && !(s->flags & SHF_COMPRESSED) &&
	       (s->data[VERSION_AT] < FIRST_WITH_TYPE || s->data[TYPE_AT] == DW_UT_split_compile);
}

static void add_section(struct split_image *m, const struct elf_section *s)
{
	struct split_image_part part = {.data = s->data, .len = s->size, .flags = s->flags}, *same;

	same = split_image_find(m, s->name);
	if (!same) {
		split_image_add(m, s->name, &part);
	} else if (is_compile_unit(s)) {
		part.name = same->name;
		*same = part;
	}
}

static void add_sections(struct split_image *m, const struct elf_file *dwo)
{
	struct elf_section s;

	for (size_t i = 0; i < elf_file_nr_sections(dwo); i++) {
		if (!elf_file_section(dwo, i, &s) || !s.is_held || !s.size || !is_wanted(s.name))
			continue;
		/* a packed one begins with a header of its class */
		if ((s.flags & SHF_COMPRESSED) && !elf_file_is_64(dwo))
			continue;
		if (elf_file_load(dwo, &s))
			add_section(m, &s);
	}
}

int elf_split_open(const struct elf_file *dwo, const struct elf_split_lent *lent,
		   struct elf_dwarf *out)
{
	struct split_image m = {.names_len = 1};

	add_sections(&m, dwo);
	return split_image_open(&m, dwo, lent, out);
}
