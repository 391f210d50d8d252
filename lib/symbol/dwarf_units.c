/*
 * Ranges of units and functions, sorted, with a ceiling on their number and on how deep entries are
 * followed. Where ranges overlap, the shortest that covers an address is the one.
 */
#include "symbol/dwarf_units.h"

#include "base/clock.h"
#include "base/mem.h"
#include "elf/file.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_RANGES_EACH = 1 << 16, /* of one entry */
	MAX_BACK = 64,             /* ranges before the nearest that may cover it too */
	STEPS = 256,               /* between two looks at the clock */
};

static bool has_time(struct dwarf_units *u)
{
	uint64_t now_ns = clock_thread_cpu_ns();

	if (!elf_file_spend(u->file, now_ns - u->since_ns))
		u->is_over = true;
	u->since_ns = now_ns;
	return !u->is_over;
}

void dwarf_units_begin(struct dwarf_units *u)
{
	u->since_ns = clock_thread_cpu_ns();
}

void dwarf_units_end(struct dwarf_units *u)
{
	has_time(u);
}

/* One more entry or range is looked at. What points back to itself, or is too much, ends here. */
static bool may_look(struct dwarf_units *u)
{
	return !u->is_over && (++u->nr_looked % STEPS || has_time(u));
}

static int add_range(struct dwarf_units *u, struct dwarf_ranges *r, const struct dwarf_range *range)
{
	struct dwarf_range *p;

	if (r->nr == DWARF_UNITS_MAX_RANGES || range->low >= range->high)
		return 0;
	if (r->nr == r->room && !elf_file_pay(u->file, (r->room + 1) * sizeof(*p))) {
		u->is_over = true;
		return 0;
	}
	p = mem_grow(r->range, r->nr, &r->room, sizeof(*p));
	if (!p)
		return -ENOMEM;
	r->range = p;
	p[r->nr++] = *range;
	return 0;
}

/* All ranges of an entry. What was left out by the linker claims to be at 0. */
static int add_die(struct dwarf_units *u, struct dwarf_ranges *r, Dwarf_Die *die, uint32_t unit)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	int rc = 0;

	for (int i = 0; i < MAX_RANGES_EACH && rc == 0 && may_look(u); i++) {
		at = dwarf_ranges(die, at, &base, &low, &high);
		if (at <= 0)
			break;
		if (low)
			rc = add_range(
			    u, r, &(struct dwarf_range){low, high, dwarf_dieoffset(die), unit});
	}
	return rc;
}

static int by_low(const void *a, const void *b)
{
	const struct dwarf_range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void sort(struct dwarf_ranges *r)
{
	if (r->nr)
		qsort(r->range, r->nr, sizeof(*r->range), by_low);
}

static const struct dwarf_range *find(const struct dwarf_ranges *r, uint64_t address)
{
	const struct dwarf_range *best = NULL;
	size_t low = 0, n = r->nr;

	while (n) {
		size_t half = n / 2;

		if (r->range[low + half].low <= address) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	for (int i = 0; i < MAX_BACK && low; i++) {
		const struct dwarf_range *p = &r->range[--low];

		if (address < p->high && (!best || p->high - p->low < best->high - best->low))
			best = p;
	}
	return best;
}

static int add_unit(struct dwarf_units *u, Dwarf_Die *die)
{
	struct dwarf_unit *p = mem_grow(u->unit, u->nr, &u->room, sizeof(*p));

	if (!p)
		return -ENOMEM;
	u->unit = p;
	p[u->nr] = (struct dwarf_unit){.offset = dwarf_dieoffset(die)};
	return add_die(u, &u->ranges, die, (uint32_t)u->nr++);
}

static bool may_take_unit(struct dwarf_units *u, size_t nr)
{
	if (nr == DWARF_UNITS_MAX || !may_look(u))
		return false;
	u->is_over = !elf_file_pay(u->file, DWARF_UNITS_UNIT_COST);
	return !u->is_over;
}

int dwarf_units_load(Dwarf *dwarf, const struct elf_file *file, struct dwarf_units *out)
{
	struct dwarf_units u = {.dwarf = dwarf, .file = file};
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	size_t nr = 0;
	int rc = 0;

	dwarf_units_begin(&u);
	/* without a place for the split unit: it would be opened by its name */
	while (rc == 0 && may_take_unit(&u, nr++) &&
	       dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0)
		if (dwarf_tag(&die) == DW_TAG_compile_unit)
			rc = add_unit(&u, &die);
	if (rc) {
		dwarf_units_fini(&u);
		return rc;
	}
	sort(&u.ranges);
	*out = u;
	return 0;
}

void dwarf_units_fini(struct dwarf_units *u)
{
	for (size_t i = 0; i < u->nr; i++)
		mem_free(u->unit[i].functions.range);
	mem_free(u->unit);
	mem_free(u->ranges.range);
	*u = (struct dwarf_units){0};
}

/* Where functions may be. */
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
	struct dwarf_units *units;
	struct dwarf_unit *unit;
	int rc;
};

static void add_functions(struct walk *w, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;

	if (depth == DWARF_UNITS_MAX_DEPTH || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (w->rc || !may_look(w->units))
			return;
		if (tag == DW_TAG_subprogram)
			w->rc = add_die(w->units, &w->unit->functions, &die, 0);
		if (is_scope(tag))
			add_functions(w, &die, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static void load_functions(struct dwarf_units *u, struct dwarf_unit *unit, Dwarf_Die *die)
{
	struct walk w = {.units = u, .unit = unit};

	unit->is_loaded = true;
	add_functions(&w, die, 0);
	u->nr_functions += unit->functions.nr;
	if (w.rc || u->nr_functions > DWARF_UNITS_MAX_RANGES)
		unit->functions.nr = 0;
	sort(&unit->functions);
}

struct dwarf_unit *dwarf_units_find(struct dwarf_units *u, uint64_t address, Dwarf_Die *unit,
				    Dwarf_Die *function)
{
	const struct dwarf_range *r = find(&u->ranges, address);
	struct dwarf_unit *p = r ? &u->unit[r->unit] : NULL;

	if (!p || u->is_over || !dwarf_offdie(u->dwarf, p->offset, unit))
		return NULL;
	if (!p->is_loaded)
		load_functions(u, p, unit);
	r = find(&p->functions, address);
	if (!r || !dwarf_offdie(u->dwarf, r->offset, function))
		*function = (Dwarf_Die){0};
	return p;
}

/* dwarf_haspc would go through as many ranges as the entry claims. */
static bool covers(struct dwarf_units *u, Dwarf_Die *die, uint64_t address)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while (may_look(u) && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		if (address >= low && address < high)
			return true;
	return false;
}

/* The child to go on with: an inlined function or a block that covers the address. */
static bool find_child(struct dwarf_units *u, const Dwarf_Die *parent, uint64_t address,
		       Dwarf_Die *out)
{
	Dwarf_Die die, from = *parent;

	if (dwarf_child(&from, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);

		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
		    covers(u, &die, address)) {
			*out = die;
			return true;
		}
	} while (may_look(u) && dwarf_siblingof(&die, &die) == 0);
	return false;
}

size_t dwarf_units_inlined(struct dwarf_units *u, const Dwarf_Die *function, uint64_t address,
			   Dwarf_Die *out, size_t max)
{
	Dwarf_Die at = *function;
	size_t nr = 0;

	for (int depth = 0; depth < DWARF_UNITS_MAX_DEPTH && nr < max; depth++) {
		if (!find_child(u, &at, address, &at))
			break;
		if (dwarf_tag(&at) == DW_TAG_inlined_subroutine)
			out[nr++] = at;
	}
	return nr;
}
