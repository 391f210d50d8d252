/*
 * The DWARF of a unit whose entries the compiler wrote to a file of their own (-gsplit-dwarf:
 * .dwo). Its addresses and, before DWARF 5, its ranges are in the program's debug file. libdw joins
 * the two only if it opens the file itself, by whatever name the program contains; so the sections
 * of both are put together in memory, as one file. The file is hostile.
 *
 * Only the unit, and what it takes from the program, is in that image; of a package (.dwp) the
 * unit's parts of the sections, and its strings alone (split_package.c).
 */
#ifndef ELF_SPLIT_H
#define ELF_SPLIT_H

#include "elf/dwarf.h"

/* The ranges of elf_split_lent begin at this offset: libdw takes an offset of 0 for none. */
enum { ELF_SPLIT_RANGES_AT = 16 };

/* The unit's part of .debug_addr and .debug_ranges of the program; copied; NULL: none. */
struct elf_split_lent {
	const uint8_t *addresses, *ranges;
	size_t addresses_len, ranges_len;
};

/* Memory is charged to dwo's budget. As elf_dwarf_open; -ENODATA also: not such a file. */
int elf_split_open(const struct elf_file *dwo, const struct elf_split_lent *lent,
		   struct elf_dwarf *out);
/* The same of the unit with that number in a package of such files (.dwp), of DWARF 5 or GNU's
 * before; -ENODATA also: it has no such unit. */
int elf_split_open_packaged(const struct elf_file *dwp, uint64_t id,
			    const struct elf_split_lent *lent, struct elf_dwarf *out);

#endif
