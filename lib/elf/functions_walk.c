#include "elf/functions_walk.h"

#include "base/clock.h"

#include <dwarf.h>

enum {
	MAX_DEPTH = 32,
	MAX_ENTRIES = 1 << 24,
	PAY_EACH = 1 << 12, /* entries, after which time is charged */
};

bool elf_functions_may_go_on(struct elf_functions_walk *w)
{
	uint64_t now_ns;

	if (++w->nr_entries % PAY_EACH)
		return !w->is_over;
	now_ns = clock_thread_cpu_ns();
	w->is_over |= w->nr_entries >= MAX_ENTRIES || !elf_file_spend(w->f, now_ns - w->since_ns);
	w->since_ns = now_ns;
	return !w->is_over;
}

static void look_at(struct elf_functions_walk *w, Dwarf_Die *die)
{
	Dwarf_Addr begin;

	if (dwarf_tag(die) == DW_TAG_subprogram && dwarf_lowpc(die, &begin) == 0)
		w->found(w, die, begin);
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

static void look_below(struct elf_functions_walk *w, Dwarf_Die *top)
{
	Dwarf_Die way[MAX_DEPTH];
	int depth = 0;

	if (dwarf_child(top, &way[0]))
		return;
	while (depth >= 0 && elf_functions_may_go_on(w)) {
		look_at(w, &way[depth]);
		if (depth + 1 < MAX_DEPTH && has_functions(&way[depth]) &&
		    dwarf_child(&way[depth], &way[depth + 1]) == 0) {
			depth++;
			continue;
		}
		while (depth >= 0 && dwarf_siblingof(&way[depth], &way[depth]))
			depth--;
	}
}

void elf_functions_walk(struct elf_functions_walk *w)
{
	struct elf_build_id shared;
	struct elf_dwarf d;
	Dwarf_Off at = 0, next;
	size_t header;

	w->since_ns = clock_thread_cpu_ns();
	/* libdw would open a file that this one names */
	if (elf_dwarf_needs(w->f, &shared) || elf_dwarf_open(w->f, &d))
		return;
	for (; !w->is_over && dwarf_nextcu(d.dwarf, at, &next, &header, NULL, NULL, NULL) == 0;
	     at = next) {
		Dwarf_Die unit;

		if (dwarf_offdie(d.dwarf, at + header, &unit))
			look_below(w, &unit);
	}
	elf_dwarf_close(&d);
}
