#include "elf/entries.h"

#include "base/clock.h"
#include "base/order.h"

#include <dwarf.h>

enum {
	FUNCTIONS_DEPTH = 32,
	MAX_FUNCTIONS = 1 << 24, /* with what stands beside them */
	PAY_EACH = 1 << 12,      /* entries, after which time is charged */
};

bool elf_entries_may_go_on(struct elf_entries *e)
{
	uint64_t now_ns;

	if (++e->nr % PAY_EACH)
		return !e->is_over;
	now_ns = clock_thread_cpu_ns();
	e->is_over |= e->nr >= e->max_nr || !elf_file_spend(e->f, now_ns - e->since_ns);
	e->since_ns = now_ns;
	return !e->is_over;
}

static void look_below(struct elf_entries *e, Dwarf_Die *top)
{
	Dwarf_Die way[ELF_ENTRIES_DEPTH];
	int depth = 0;

	if (dwarf_child(top, &way[0]))
		return;
	while (depth >= 0 && elf_entries_may_go_on(e)) {
		e->found(e, &way[depth]);
		if (depth + 1 < e->max_depth && (!e->is_entered || e->is_entered(&way[depth])) &&
		    dwarf_child(&way[depth], &way[depth + 1]) == 0) {
			depth++;
			continue;
		}
		while (depth >= 0 && dwarf_siblingof(&way[depth], &way[depth]))
			depth--;
	}
}

static int look_at_unit(const struct elf_dwarf *d, Dwarf_Die *unit, void *arg)
{
	struct elf_entries *e = arg;

	(void)d;
	look_below(e, unit);
	return e->is_over;
}

void elf_entries_walk(struct elf_entries *e)
{
	e->since_ns = clock_thread_cpu_ns();
	(void)elf_dwarf_each_unit(e->f, look_at_unit, e);
}

static bool has_functions(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		return true;
	default:
		return false;
	}
}

/* Of functions whose addresses are asked for. */
struct search {
	const uint64_t *address;
	size_t nr;
	elf_entries_function *found;
	void *arg;
};

static void look_at_function(struct elf_entries *e, Dwarf_Die *die)
{
	const struct search *s = e->arg;
	Dwarf_Addr begin;
	size_t i;

	if (dwarf_tag(die) != DW_TAG_subprogram || dwarf_lowpc(die, &begin))
		return;
	i = ORDER_FIRST(k, s->nr, s->address[k] >= begin);
	if (i < s->nr && s->address[i] == begin)
		s->found(e, die, i, s->arg);
}

void elf_entries_of_functions(const struct elf_file *f, const uint64_t *address, size_t nr,
			      elf_entries_function *found, void *arg)
{
	struct search s = {address, nr, found, arg};
	struct elf_entries e = {.f = f,
				.max_depth = FUNCTIONS_DEPTH,
				.max_nr = MAX_FUNCTIONS,
				.found = look_at_function,
				.is_entered = has_functions,
				.arg = &s};

	elf_entries_walk(&e);
}
