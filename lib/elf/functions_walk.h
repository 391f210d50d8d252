/*
 * The functions of a file in its DWARF, within the budget of the file: those that have code, at the
 * top of units and in namespaces, modules and classes.
 */
#ifndef ELF_FUNCTIONS_WALK_H
#define ELF_FUNCTIONS_WALK_H

#include "elf/dwarf.h"

#include <stdbool.h>

struct elf_functions_walk {
	const struct elf_file *f;
	/* of each function with code; begin: its address */
	void (*found)(struct elf_functions_walk *w, Dwarf_Die *die, Dwarf_Addr begin);
	void *arg;
	/* for functions_walk.c */
	size_t nr_entries;
	uint64_t since_ns;
	bool is_over;
};

/* Nothing without DWARF, or if it needs another file's. */
void elf_functions_walk(struct elf_functions_walk *w);
/* Counts an entry that was looked at: false: the budget is over. */
bool elf_functions_may_go_on(struct elf_functions_walk *w);

#endif
