#include "elf/sources.h"

#include "elf/entries.h"

struct receiver {
	void (*found)(void *arg, size_t i, const char *path);
	void *arg;
};

/* Where it is declared: a unit has functions of several files. */
static void pass(struct elf_entries *e, Dwarf_Die *die, size_t i, void *to)
{
	const struct receiver *r = to;
	const char *path = dwarf_decl_file(die);

	(void)e;
	if (path)
		r->found(r->arg, i, path);
}

void elf_sources_find(const struct elf_file *f, const uint64_t *address, size_t nr,
		      void (*found)(void *arg, size_t i, const char *path), void *arg)
{
	struct receiver r = {found, arg};

	elf_entries_of_functions(f, address, nr, pass, &r);
}
