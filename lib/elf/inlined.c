#include "elf/inlined.h"

#include "base/clock.h"
#include "elf/dwarf.h"

#include <dwarf.h>

enum {
	MAX_DEPTH = 64,
	MAX_ENTRIES = 1 << 26,
	PAY_EACH = 1 << 14, /* entries, after which time is charged */
};

struct counter {
	const struct elf_file *f;
	bool (*matches)(const char *name, void *arg);
	void *arg;
	size_t nr, nr_entries;
	uint64_t since_ns;
	bool is_over;
};

/* Within the budget of the file. */
static bool may_go_on(struct counter *c)
{
	uint64_t now_ns;

	if (++c->nr_entries % PAY_EACH)
		return !c->is_over;
	now_ns = clock_thread_cpu_ns();
	c->is_over |= c->nr_entries >= MAX_ENTRIES || !elf_file_spend(c->f, now_ns - c->since_ns);
	c->since_ns = now_ns;
	return !c->is_over;
}

static const char *find_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		return dwarf_formstring(&attr);
	return dwarf_diename(die);
}

static void count_entry(struct counter *c, Dwarf_Die *die)
{
	const char *name = dwarf_tag(die) == DW_TAG_inlined_subroutine ? find_name(die) : NULL;

	c->nr += name && c->matches(name, c->arg);
}

/* All entries below one. */
static void count_below(struct counter *c, Dwarf_Die *top)
{
	Dwarf_Die way[MAX_DEPTH];
	int depth = 0;

	if (dwarf_child(top, &way[0]))
		return;
	while (depth >= 0 && may_go_on(c)) {
		count_entry(c, &way[depth]);
		if (depth + 1 < MAX_DEPTH && dwarf_child(&way[depth], &way[depth + 1]) == 0) {
			depth++;
			continue;
		}
		while (depth >= 0 && dwarf_siblingof(&way[depth], &way[depth]))
			depth--;
	}
}

size_t elf_inlined_count(const struct elf_file *f, bool (*matches)(const char *name, void *arg),
			 void *arg)
{
	struct counter c = {
	    .f = f, .matches = matches, .arg = arg, .since_ns = clock_thread_cpu_ns()};
	struct elf_build_id shared;
	struct elf_dwarf d;
	Dwarf_Off at = 0, next;
	size_t header;

	/* libdw would open a file that this one names */
	if (elf_dwarf_needs(f, &shared) || elf_dwarf_open(f, &d))
		return 0;
	for (; !c.is_over && dwarf_nextcu(d.dwarf, at, &next, &header, NULL, NULL, NULL) == 0;
	     at = next) {
		Dwarf_Die unit;

		if (dwarf_offdie(d.dwarf, at + header, &unit))
			count_below(&c, &unit);
	}
	elf_dwarf_close(&d);
	return c.nr;
}
