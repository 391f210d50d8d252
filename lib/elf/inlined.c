#include "elf/inlined.h"

#include "elf/entries.h"

#include <dwarf.h>

enum { MAX_ENTRIES = 1 << 26 };

struct counter {
	bool (*matches)(const char *name, void *arg);
	void *arg;
	size_t nr;
};

static const char *find_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		return dwarf_formstring(&attr);
	return dwarf_diename(die);
}

static void count_entry(struct elf_entries *e, Dwarf_Die *die)
{
	struct counter *c = e->arg;
	const char *name = dwarf_tag(die) == DW_TAG_inlined_subroutine ? find_name(die) : NULL;

	c->nr += name && c->matches(name, c->arg);
}

size_t elf_inlined_count(const struct elf_file *f, bool (*matches)(const char *name, void *arg),
			 void *arg)
{
	struct counter c = {.matches = matches, .arg = arg};
	struct elf_entries e = {.f = f,
				.max_depth = ELF_ENTRIES_DEPTH,
				.max_nr = MAX_ENTRIES,
				.found = count_entry,
				.arg = &c};

	elf_entries_walk(&e);
	return c.nr;
}
