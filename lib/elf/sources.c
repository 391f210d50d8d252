#include "elf/sources.h"

#include "base/order.h"
#include "elf/entries.h"

struct search {
	const uint64_t *address;
	size_t nr;
	void (*found)(void *arg, size_t i, const char *path);
	void *arg;
};

/* Where it is declared: a unit has functions of several files. */
static void look_at(struct elf_entries *e, Dwarf_Die *die)
{
	const struct search *s = e->arg;
	const char *path = NULL;
	Dwarf_Addr begin;
	size_t i;

	if (!elf_entry_is_function(die, &begin))
		return;
	i = ORDER_FIRST(k, s->nr, s->address[k] >= begin);
	if (i < s->nr && s->address[i] == begin)
		path = dwarf_decl_file(die);
	if (path)
		s->found(s->arg, i, path);
}

void elf_sources_find(const struct elf_file *f, const uint64_t *address, size_t nr,
		      void (*found)(void *arg, size_t i, const char *path), void *arg)
{
	struct search s = {address, nr, found, arg};

	elf_entries_of_functions(f, look_at, &s);
}
