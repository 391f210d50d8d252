#include "elf/sources.h"

#include "base/order.h"
#include "elf/functions_walk.h"

struct search {
	const uint64_t *address;
	size_t nr;
	void (*found)(void *arg, size_t i, const char *path);
	void *arg;
};

/* Where it is declared: a unit has functions of several files. */
static void look_at(struct elf_functions_walk *w, Dwarf_Die *die, Dwarf_Addr begin)
{
	const struct search *s = w->arg;
	const size_t i = ORDER_FIRST(k, s->nr, s->address[k] >= begin);
	const char *path = i < s->nr && s->address[i] == begin ? dwarf_decl_file(die) : NULL;

	if (path)
		s->found(s->arg, i, path);
}

void elf_sources_find(const struct elf_file *f, const uint64_t *address, size_t nr,
		      void (*found)(void *arg, size_t i, const char *path), void *arg)
{
	struct search s = {address, nr, found, arg};
	struct elf_functions_walk w = {.f = f, .found = look_at, .arg = &s};

	elf_functions_walk(&w);
}
