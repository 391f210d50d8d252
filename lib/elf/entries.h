/*
 * Walks the entries of a file's DWARF, within the budget of the file: those at the top of each
 * unit, and those below the entries that the caller wants to enter.
 */
#ifndef ELF_ENTRIES_H
#define ELF_ENTRIES_H

#include "elf/dwarf.h"

#include <stdbool.h>

enum { ELF_ENTRIES_DEPTH = 64 };

struct elf_entries {
	const struct elf_file *f;
	int max_depth; /* at most ELF_ENTRIES_DEPTH */
	size_t max_nr; /* of all entries that are looked at */
	void (*found)(struct elf_entries *e, Dwarf_Die *die);
	bool (*is_entered)(Dwarf_Die *die); /* NULL: each is */
	void *arg;
	/* for entries.c */
	size_t nr;
	uint64_t since_ns;
	bool is_over;
};

typedef void elf_entries_function(struct elf_entries *e, Dwarf_Die *die, size_t i, void *arg);

/* Nothing without DWARF, or if it needs another file's. */
void elf_entries_walk(struct elf_entries *e);
/* Counts an entry that was looked at: false: the budget is over. */
bool elf_entries_may_go_on(struct elf_entries *e);

/* The functions with code at these addresses (ascending), at the top of units and in namespaces,
 * modules and classes: calls found for each, with the number of its address and arg. */
void elf_entries_of_functions(const struct elf_file *f, const uint64_t *address, size_t nr,
			      elf_entries_function *found, void *arg);

#endif
