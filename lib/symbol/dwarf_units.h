/*
 * Finds the functions of a DWARF file that cover an address: units by their ranges, functions by an
 * index of the unit, made on first use. (libdw walks the whole unit on each query, to any depth.)
 * Not thread-safe.
 */
#ifndef SYMBOL_DWARF_UNITS_H
#define SYMBOL_DWARF_UNITS_H

#include "symbol/splits.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SYMBOL_UNITS_MAX = 1 << 20,
	SYMBOL_UNITS_MAX_RANGES = 1 << 22, /* of all units; and of all functions */
	SYMBOL_UNITS_MAX_DEPTH = 64,
	SYMBOL_UNITS_UNIT_COST = 512, /* bytes of memory per unit, with libdw's */
};

struct symbol_unit_range {
	uint64_t low, high;
	uint64_t offset; /* of the DIE */
	uint32_t unit;
};

struct symbol_unit_ranges {
	struct symbol_unit_range *range; /* owned; sorted by low */
	size_t nr, room;
};

struct symbol_unit {
	uint64_t offset; /* of its DIE */
	bool is_loaded;
	bool is_paid, has_lines;    /* line table: whether its cost was charged, and the result */
	struct symbol_split *split; /* owned; NULL: its entries are in the debug file, or missing */
	struct symbol_unit_ranges functions;
};

struct elf_file;
struct symbol_units {
	Dwarf *dwarf;                /* borrowed */
	const struct elf_file *file; /* borrowed; its budget is charged */
	struct symbol_splits splits;
	struct symbol_unit *unit; /* owned */
	size_t nr, room;
	struct symbol_unit_ranges ranges;
	size_t nr_functions; /* ranges of functions in all units */
	size_t nr_looked;    /* visited entries and ranges */
	uint64_t since_ns;   /* when time was last charged */
	bool is_over;        /* the budget is exhausted: visit nothing more */
};

/* Borrows the files of splits. 0 or -ENOMEM. */
int symbol_units_load(const struct symbol_splits *splits, struct symbol_units *out);
void symbol_units_fini(struct symbol_units *u);
/* Encloses queries, and other calls of libdw, whose time is charged to the file. */
void symbol_units_begin(struct symbol_units *u);
void symbol_units_end(struct symbol_units *u);
/* The unit that covers the address, with its DIE. NULL: none. */
struct symbol_unit *symbol_units_find(struct symbol_units *u, uint64_t address, Dwarf_Die *unit);
/* The inlined functions of a unit that cover the address, outermost first; at most max. die: the
 * unit's. */
size_t symbol_units_inlined(struct symbol_units *u, struct symbol_unit *p, const Dwarf_Die *die,
			    uint64_t address, Dwarf_Die *out, size_t max);

#endif
