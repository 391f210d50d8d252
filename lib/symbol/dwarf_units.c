/*
 * Sorted ranges of units and functions, limited in number and nesting. Of overlapping ranges, the
 * shortest that covers an address is used.
 */
#include "symbol/dwarf_units.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "elf/file.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_RANGES_EACH = 1 << 16, /* per entry */
	MAX_BACK = 64,             /* overlapping ranges that are tried */
	STEPS = 256,               /* between checks of the time */
};

static bool has_time(struct symbol_units *u)
{
	uint64_t now_ns = clock_thread_cpu_ns();

	if (!elf_file_spend(u->file, now_ns - u->since_ns))
		u->is_over = true;
	u->since_ns = now_ns;
	return !u->is_over;
}

void symbol_units_begin(struct symbol_units *u)
{
	u->since_ns = clock_thread_cpu_ns();
}

void symbol_units_end(struct symbol_units *u)
{
	has_time(u);
}

/* Counts a visited entry or range. False: over the budget, which also ends cycles in the data. */
static bool may_look(struct symbol_units *u)
{
	return !u->is_over && (++u->nr_looked % STEPS || has_time(u));
}

static int add_range(struct symbol_units *u, struct symbol_unit_ranges *r,
		     const struct symbol_unit_range *range)
{
	struct symbol_unit_range *p;

	if (r->nr == SYMBOL_UNITS_MAX_RANGES || range->low >= range->high)
		return 0;
	if (r->nr == r->room && !elf_file_pay(u->file, (r->room + 1) * sizeof(*p))) {
		u->is_over = true;
		return 0;
	}
	p = MEM_ADD(r->range, r->nr, r->room);
	if (!p)
		return -ENOMEM;
	*p = *range;
	return 0;
}

/* Adds all ranges of an entry. Functions that the linker removed have a range at 0. */
static int add_die(struct symbol_units *u, struct symbol_unit_ranges *r,
		   const struct symbol_split *split, Dwarf_Die *die, uint32_t unit)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	int rc = 0;

	for (int i = 0; i < MAX_RANGES_EACH && rc == 0 && may_look(u); i++) {
		at = symbol_split_ranges(split, die, at, &base, &low, &high);
		if (at <= 0)
			break;
		if (low)
			rc = add_range(
			    u, r,
			    &(struct symbol_unit_range){low, high, dwarf_dieoffset(die), unit});
	}
	return rc;
}

static int by_low(const void *a, const void *b)
{
	const struct symbol_unit_range *x = a, *y = b;

	return order_u64(x->low, y->low) ?: order_u64(x->offset, y->offset);
}

static void sort_ranges(struct symbol_unit_ranges *r)
{
	if (r->nr)
		qsort(r->range, r->nr, sizeof(*r->range), by_low);
}

static const struct symbol_unit_range *find(const struct symbol_unit_ranges *r, uint64_t address)
{
	const struct symbol_unit_range *best = NULL;
	size_t low = ORDER_FIRST(i, r->nr, r->range[i].low > address);

	for (int i = 0; i < MAX_BACK && low; i++) {
		const struct symbol_unit_range *p = &r->range[--low];

		if (address < p->high && (!best || p->high - p->low < best->high - best->low))
			best = p;
	}
	return best;
}

static int add_unit(struct symbol_units *u, Dwarf_Die *die)
{
	struct symbol_unit *p = MEM_ADD(u->unit, u->nr, u->room);

	if (!p)
		return -ENOMEM;
	*p = (struct symbol_unit){.offset = dwarf_dieoffset(die)};
	return add_die(u, &u->ranges, NULL, die, (uint32_t)u->nr - 1);
}

/* The skeleton of a unit whose entries are in another file has its line table. */
static bool has_lines(int tag)
{
	return tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit;
}

int symbol_units_load(const struct symbol_splits *splits, struct symbol_units *out)
{
	struct symbol_units u = {
	    .dwarf = splits->dwarf->dwarf, .file = splits->debug, .splits = *splits};
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	int rc = 0;

	symbol_units_begin(&u);
	for (size_t nr = 0; rc == 0 && nr < SYMBOL_UNITS_MAX && may_look(&u); nr++) {
		u.is_over = !elf_file_pay(u.file, SYMBOL_UNITS_UNIT_COST);
		/* No argument for the split unit: libdw would open the file that it names. */
		if (u.is_over || dwarf_get_units(u.dwarf, cu, &cu, NULL, NULL, &die, NULL) != 0)
			break;
		if (has_lines(dwarf_tag(&die)))
			rc = add_unit(&u, &die);
	}
	if (rc) {
		symbol_units_fini(&u);
		return rc;
	}
	sort_ranges(&u.ranges);
	*out = u;
	return 0;
}

void symbol_units_fini(struct symbol_units *u)
{
	for (size_t i = 0; i < u->nr; i++) {
		symbol_split_free(u->unit[i].split);
		mem_free(u->unit[i].functions.range);
	}
	symbol_splits_fini(&u->splits);
	mem_free(u->unit);
	mem_free(u->ranges.range);
	*u = (struct symbol_units){0};
}

/* Entries that can contain functions. */
static bool is_scope(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_lexical_block:
	case DW_TAG_subprogram:
		return true;
	default:
		return false;
	}
}

struct walk {
	struct symbol_units *units;
	struct symbol_unit *unit;
	int rc;
};

static void add_functions(struct walk *w, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;

	if (depth == SYMBOL_UNITS_MAX_DEPTH || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (w->rc || !may_look(w->units))
			return;
		if (tag == DW_TAG_subprogram)
			w->rc = add_die(w->units, &w->unit->functions, w->unit->split, &die, 0);
		if (is_scope(tag))
			add_functions(w, &die, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

struct symbol_unit *symbol_units_find(struct symbol_units *u, uint64_t address, Dwarf_Die *unit)
{
	const struct symbol_unit_range *r = find(&u->ranges, address);

	if (!r || u->is_over || !dwarf_offdie(u->dwarf, u->unit[r->unit].offset, unit))
		return NULL;
	return &u->unit[r->unit];
}

/* The entry with the unit's functions. */
static bool whole_unit(const struct symbol_unit *p, const Dwarf_Die *die, Dwarf_Die *out)
{
	*out = *die;
	return !p->split || dwarf_offdie(p->split->dwarf.dwarf, p->split->offset, out);
}

static void load_functions(struct symbol_units *u, struct symbol_unit *p, const Dwarf_Die *die)
{
	struct walk w = {.units = u, .unit = p};
	Dwarf_Die skeleton = *die, whole;

	p->is_loaded = true;
	p->split = symbol_split_new(&u->splits, &skeleton);
	if (whole_unit(p, die, &whole))
		add_functions(&w, &whole, 0);
	u->nr_functions += p->functions.nr;
	if (w.rc || u->nr_functions > SYMBOL_UNITS_MAX_RANGES)
		p->functions.nr = 0;
	sort_ranges(&p->functions);
}

/* dwarf_haspc would visit all of the entry's ranges, without a limit. */
static bool covers(struct symbol_units *u, const struct symbol_split *split, Dwarf_Die *die,
		   uint64_t address)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while (may_look(u) && (at = symbol_split_ranges(split, die, at, &base, &low, &high)) > 0)
		if (address >= low && address < high)
			return true;
	return false;
}

/* The child to descend into: an inlined function or a block that covers the address. */
static bool find_child(struct symbol_units *u, const struct symbol_split *split,
		       const Dwarf_Die *parent, uint64_t address, Dwarf_Die *out)
{
	Dwarf_Die die, from = *parent;

	if (dwarf_child(&from, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);

		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
		    covers(u, split, &die, address)) {
			*out = die;
			return true;
		}
	} while (may_look(u) && dwarf_siblingof(&die, &die) == 0);
	return false;
}

size_t symbol_units_inlined(struct symbol_units *u, struct symbol_unit *p, const Dwarf_Die *die,
			    uint64_t address, Dwarf_Die *out, size_t max)
{
	const struct symbol_unit_range *r;
	Dwarf_Die at;
	size_t nr = 0;

	if (!p->is_loaded)
		load_functions(u, p, die);
	r = find(&p->functions, address);
	if (!r || !dwarf_offdie(p->split ? p->split->dwarf.dwarf : u->dwarf, r->offset, &at))
		return 0;
	for (int depth = 0; depth < SYMBOL_UNITS_MAX_DEPTH && nr < max; depth++) {
		if (!find_child(u, p->split, &at, address, &at))
			break;
		if (dwarf_tag(&at) == DW_TAG_inlined_subroutine)
			out[nr++] = at;
	}
	return nr;
}
