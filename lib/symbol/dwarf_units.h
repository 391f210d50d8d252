/*
 * Which functions of a DWARF file cover an address: its units by the addresses they claim, and
 * within each, when it is first asked, its functions. libdw's own way walks a unit for each
 * question, as deep as the file says. One thread at a time.
 */
#ifndef SYMBOL_DWARF_UNITS_H
#define SYMBOL_DWARF_UNITS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DWARF_UNITS_MAX = 1 << 20,
	DWARF_UNITS_MAX_RANGES = 1 << 22, /* of all units; of the functions of all */
	DWARF_UNITS_MAX_DEPTH = 64,
	DWARF_UNITS_UNIT_COST = 512, /* bytes of memory for each, with what libdw makes of it */
};

struct dwarf_range {
	uint64_t low, high;
	uint64_t offset; /* of the entry */
	uint32_t unit;
};

struct dwarf_ranges {
	struct dwarf_range *range; /* owned; by low */
	size_t nr, room;
};

struct dwarf_unit {
	uint64_t offset; /* of its entry */
	bool is_loaded;
	bool is_paid, has_lines; /* for who asks for its lines: asked before; and the answer */
	struct dwarf_ranges functions;
};

struct elf_file;
struct dwarf_units {
	Dwarf *dwarf;                /* borrowed */
	const struct elf_file *file; /* borrowed: it pays */
	struct dwarf_unit *unit;     /* owned */
	size_t nr, room;
	struct dwarf_ranges ranges;
	size_t nr_functions; /* ranges of functions, of all units */
	size_t nr_looked;    /* entries and ranges looked at */
	uint64_t since_ns;   /* when time was last paid for */
	bool is_over;        /* the file used up what it may take: nothing more is looked at */
};

/* 0 or -ENOMEM. */
int dwarf_units_load(Dwarf *dwarf, const struct elf_file *file, struct dwarf_units *out);
void dwarf_units_fini(struct dwarf_units *u);
/* Begins and ends what the file pays for with time: all questions, and what is asked of libdw
 * besides. */
void dwarf_units_begin(struct dwarf_units *u);
void dwarf_units_end(struct dwarf_units *u);
/* The unit that covers the address, its entry, and the function in it, whose tag is 0 if there is
 * none. NULL: no unit does. */
struct dwarf_unit *dwarf_units_find(struct dwarf_units *u, uint64_t address, Dwarf_Die *unit,
				    Dwarf_Die *function);
/* The inlined functions that cover the address within a function, the outermost first; at most max.
 */
size_t dwarf_units_inlined(struct dwarf_units *u, const Dwarf_Die *function, uint64_t address,
			   Dwarf_Die *out, size_t max);

#endif
