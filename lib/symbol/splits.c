/*
 * Tries the places in which the file of a unit may be; its number says whether it is the one. Of
 * units in packages the number is the key.
 */
#include "symbol/splits.h"

#include "base/err.h"
#include "base/mem.h"
#include "elf/finder.h"
#include "elf/split.h"
#include "symbol/dwarf_units.h"
#include "symbol/symbols.h"
#include "symbol/word.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>

enum { HEADER_BYTES = 8 }; /* before the addresses of a unit, from DWARF 5 on */

/* The first of two attributes that the entry has: of DWARF 5, or of GNU before. */
static Dwarf_Attribute *attribute(Dwarf_Die *die, unsigned now, unsigned before,
				  Dwarf_Attribute *out)
{
	return dwarf_attr(die, now, out) ?: dwarf_attr(die, before, out);
}

/* A unit of this type, and the number by which skeleton and unit know each other. */
static bool has_id(Dwarf_Die *die, uint8_t type, uint64_t *id)
{
	uint8_t found;

	return dwarf_cu_info(die->cu, NULL, &found, NULL, NULL, id, NULL, NULL) == 0 &&
	       found == type;
}

/* The rest of a section from the offset on that an attribute says. NULL: there is none. */
static const uint8_t *rest_of(const struct elf_dwarf *d, const char *section, Dwarf_Attribute *attr,
			      uint64_t *at, size_t *len)
{
	const uint8_t *data = elf_dwarf_section(d, section, len);

	*at = 0;
	if (!data || (attr && dwarf_formudata(attr, at) != 0) || *at >= *len)
		return NULL;
	*len -= *at;
	return data + *at;
}

/* Without a header (before DWARF 5) where the unit's addresses end is unknown. */
static void cut_addresses(struct elf_split_lent *lent, uint64_t at)
{
	const size_t in_header = 4; /* version, sizes */
	uint32_t len;

	if (at < HEADER_BYTES)
		return;
	len = word_32(lent->addresses - HEADER_BYTES);
	if (len >= in_header && len - in_header < lent->addresses_len)
		lent->addresses_len = len - in_header;
}

static void lend(const struct symbol_splits *s, Dwarf_Die *skeleton, struct elf_split_lent *out)
{
	Dwarf_Attribute attr, *has;
	uint64_t at;

	*out = (struct elf_split_lent){0};
	has = attribute(skeleton, DW_AT_addr_base, DW_AT_GNU_addr_base, &attr);
	if (has)
		out->addresses = rest_of(s->dwarf, "addr", has, &at, &out->addresses_len);
	if (out->addresses && attr.code == DW_AT_addr_base)
		cut_addresses(out, at);
	has = dwarf_attr(skeleton, DW_AT_GNU_ranges_base, &attr);
	if (has)
		out->ranges = rest_of(s->dwarf, "ranges", has, &at, &out->ranges_len);
}

/* The unit with the number among those of the file, which may have units of types before it. */
static bool find_unit(struct symbol_split *p, const struct elf_file *payer, uint64_t id)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint64_t found;

	for (size_t nr = 0; nr < SYMBOL_UNITS_MAX; nr++) {
		if (!elf_file_pay(payer, SYMBOL_UNITS_UNIT_COST) ||
		    dwarf_get_units(p->dwarf.dwarf, cu, &cu, NULL, NULL, &die, NULL) != 0)
			return false;
		if (has_id(&die, DW_UT_split_compile, &found) && found == id) {
			p->offset = dwarf_dieoffset(&die);
			return true;
		}
	}
	return false;
}

static void report(struct symbol_splits *s, const struct elf_wanted_split *w)
{
	struct err e = {0};

	if (s->has_reported || !s->config->problem)
		return;
	s->has_reported = true;
	err_set_at(&e, -ENOENT, elf_file_name(s->debug), 0, 0,
		   "has inlined functions in files that are missing or of another build, as %s",
		   w->name);
	err_hint(&e,
		 "keep the .dwo files of the build, or their package (.dwp) beside the program, or "
		 "name their folder with --debug-dir");
	s->config->problem(s->config->arg, &e);
}

static struct symbol_split *open_unit(const struct elf_file *file, bool is_package,
				      const struct elf_split_lent *lent, uint64_t id)
{
	struct symbol_split *p = mem_zalloc(sizeof(*p));
	int rc = -ENOMEM;

	if (p)
		rc = is_package ? elf_split_open_packaged(file, id, lent, &p->dwarf)
				: elf_split_open(file, lent, &p->dwarf);
	if (rc == 0 && find_unit(p, file, id))
		return p;
	symbol_split_free(p);
	return NULL;
}

static struct elf_file *find_package(const struct symbol_splits *s, const struct elf_file *program)
{
	struct elf_file *file = NULL;

	for (size_t i = 0;
	     program && !file && elf_finder_package(s->config->finder, program, i, &file); i++)
		;
	return file;
}

static struct elf_file *package_of(struct symbol_splits *s)
{
	if (!s->has_package)
		s->package = find_package(s, s->code)
				 ?: s->code != s->debug ? find_package(s, s->debug)
							: NULL;
	s->has_package = true;
	return s->package;
}

void symbol_splits_fini(struct symbol_splits *s)
{
	elf_file_close(s->package);
	s->package = NULL;
}

/* In the package, or else in a file of its own. */
static struct symbol_split *find_split(struct symbol_splits *s, const struct elf_wanted_split *w,
				       const struct elf_split_lent *lent, uint64_t id)
{
	struct elf_file *file = package_of(s);
	struct symbol_split *p = file ? open_unit(file, true, lent, id) : NULL;

	if (p)
		s->rights = elf_rights_of_both(s->rights, elf_file_rights(file));
	for (size_t i = 0; !p && elf_finder_split(s->config->finder, w, i, &file); i++) {
		p = file ? open_unit(file, false, lent, id) : NULL;
		if (p)
			s->rights = elf_rights_of_both(s->rights, elf_file_rights(file));
		elf_file_close(file); /* what is needed of it was copied */
	}
	return p;
}

struct symbol_split *symbol_split_new(struct symbol_splits *s, Dwarf_Die *skeleton)
{
	struct symbol_split *p;
	struct elf_split_lent lent;
	struct elf_wanted_split w;
	Dwarf_Attribute attr;
	Dwarf_Addr base;
	uint64_t id;

	if (!s->config->finder || !has_id(skeleton, DW_UT_skeleton, &id))
		return NULL;
	w.by = s->debug;
	w.folder = dwarf_formstring(dwarf_attr(skeleton, DW_AT_comp_dir, &attr));
	w.name = dwarf_formstring(attribute(skeleton, DW_AT_dwo_name, DW_AT_GNU_dwo_name, &attr));
	if (!w.name)
		return NULL;
	lend(s, skeleton, &lent);
	p = find_split(s, &w, &lent, id);
	if (!p) {
		report(s, &w);
		return NULL;
	}
	p->base = dwarf_lowpc(skeleton, &base) == 0 ? base : 0;
	p->ranges_from = lent.ranges ? ELF_SPLIT_RANGES_AT : 0;
	return p;
}

void symbol_split_free(struct symbol_split *p)
{
	if (!p)
		return;
	elf_dwarf_close(&p->dwarf);
	mem_free(p);
}

/* Where the list of a number is: after the header there is a table of offsets from there. */
static bool find_list(const struct symbol_split *split, uint64_t nr, Dwarf_Word *out)
{
	enum { LISTS_HEADER_BYTES = 12, WORD_BYTES = 4 };
	const uint8_t *data;
	size_t len;

	data = elf_dwarf_section(&split->dwarf, "rnglists.dwo", &len);
	if (!data || len < LISTS_HEADER_BYTES || nr >= (len - LISTS_HEADER_BYTES) / WORD_BYTES)
		return false;
	*out = LISTS_HEADER_BYTES + (uint64_t)word_32(data + LISTS_HEADER_BYTES + WORD_BYTES * nr);
	return *out < len;
}

/* libdw has no base for a unit without its skeleton: where the ranges begin is said to it. */
ptrdiff_t symbol_split_ranges(const struct symbol_split *split, Dwarf_Die *die, ptrdiff_t at,
			      Dwarf_Addr *base, Dwarf_Addr *low, Dwarf_Addr *high)
{
	Dwarf_Attribute attr;
	Dwarf_Word from;

	if (split && at == 0 && !dwarf_hasattr(die, DW_AT_low_pc)) {
		if (dwarf_formudata(dwarf_attr(die, DW_AT_ranges, &attr), &from) != 0 ||
		    (attr.form == DW_FORM_rnglistx && !find_list(split, from, &from)) ||
		    __builtin_add_overflow(from, split->ranges_from, &at))
			return 0;
		*base = split->base;
	}
	return dwarf_ranges(die, at, base, low, high);
}
