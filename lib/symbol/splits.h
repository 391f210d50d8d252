/*
 * Units of DWARF whose entries are in files of their own (-gsplit-dwarf), or in one package of
 * them. The program's debug file has a skeleton of each: the name of its file, a number to compare
 * it with, and its line table.
 */
#ifndef SYMBOL_SPLITS_H
#define SYMBOL_SPLITS_H

#include "elf/dwarf.h"
#include "elf/rights.h"

struct symbols_config;

/* A unit, from its file. */
struct symbol_split {
	struct elf_dwarf dwarf;
	Dwarf_Off offset;     /* of the unit's DIE */
	uint64_t base;        /* of its ranges */
	uint64_t ranges_from; /* is added to offsets of ranges */
};

/* The split DWARF of one debug file. Zero-initialise, and set what is borrowed. */
struct symbol_splits {
	const struct symbols_config *config;
	const struct elf_file *debug;
	const struct elf_file *code;   /* the program itself; NULL: not known */
	const struct elf_dwarf *dwarf; /* of debug */
	bool has_reported;             /* that a unit's file is missing */
	bool has_package;              /* it was looked for */
	struct elf_file *package;      /* owned; NULL: there is none */
	struct elf_rights rights;      /* of the files that had units so far */
};

void symbol_splits_fini(struct symbol_splits *s); /* a zeroed one is allowed */

/* The unit of a skeleton. NULL: it is not one, or its file is missing, which is reported once. To
 * be freed with symbol_split_free. */
struct symbol_split *symbol_split_new(struct symbol_splits *s, Dwarf_Die *skeleton);
void symbol_split_free(struct symbol_split *p); /* NULL is fine */

/* As dwarf_ranges, also of an entry of a split unit; split NULL: it is of none. */
ptrdiff_t symbol_split_ranges(const struct symbol_split *split, Dwarf_Die *die, ptrdiff_t at,
			      Dwarf_Addr *base, Dwarf_Addr *low, Dwarf_Addr *high);

#endif
