#include "elf/lines.h"

#include "base/clock.h"
#include "elf/dwarf.h"

#include <dwarf.h>
#include <string.h>

enum {
	MAX_PROGRAM_BYTES = 32 << 20,
	PROGRAM_COST = 50, /* bytes of libdw's memory for each byte of a unit's program */
	MAX_LINE = 1 << 30,
};

struct walk {
	const struct elf_file *f;
	int (*fn)(void *arg, const struct elf_line *line);
	void *arg;
	uint64_t since_ns;
};

/* Before libdw reads the table. */
static bool pay(struct walk *w, const struct elf_dwarf *d, Dwarf_Die *unit)
{
	const uint64_t now_ns = clock_thread_cpu_ns(), ns = now_ns - w->since_ns;
	Dwarf_Attribute attr;
	const uint8_t *lines;
	uint32_t bytes;
	Dwarf_Word at;
	size_t len;

	w->since_ns = now_ns;
	lines = elf_dwarf_section(d, "line", &len);
	if (!lines || dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attr), &at) != 0 ||
	    at >= len || len - at < sizeof(bytes))
		return false;
	memcpy(&bytes, lines + at, sizeof(bytes));
	return bytes <= MAX_PROGRAM_BYTES && elf_file_spend(w->f, ns) &&
	       elf_file_pay(w->f, (uint64_t)bytes * PROGRAM_COST);
}

/* Code from this row of the table to the next one. */
static int pass(struct walk *w, Dwarf_Line *from, Dwarf_Line *to)
{
	struct elf_line line = {0};
	Dwarf_Addr begin, end;
	bool is_end = true;
	int number;

	if (dwarf_lineendsequence(from, &is_end) || is_end || dwarf_lineaddr(from, &begin) ||
	    dwarf_lineaddr(to, &end) || end <= begin || dwarf_lineno(from, &number) ||
	    number <= 0 || number > MAX_LINE)
		return 0;
	line.begin = begin;
	line.end = end;
	line.line = (unsigned)number;
	line.path = dwarf_linesrc(from, NULL, NULL);
	return line.path ? w->fn(w->arg, &line) : 0;
}

static int walk_unit(const struct elf_dwarf *d, Dwarf_Die *unit, void *arg)
{
	struct walk *w = arg;
	Dwarf_Lines *lines;
	size_t nr;
	int rc = 0;

	if (!pay(w, d, unit) || dwarf_getsrclines(unit, &lines, &nr))
		return 0;
	for (size_t i = 0; i + 1 < nr && rc == 0; i++)
		rc = pass(w, dwarf_onesrcline(lines, i), dwarf_onesrcline(lines, i + 1));
	return rc;
}

int elf_lines_each(const struct elf_file *f, int (*fn)(void *arg, const struct elf_line *line),
		   void *arg)
{
	struct walk w = {.f = f, .fn = fn, .arg = arg, .since_ns = clock_thread_cpu_ns()};

	return elf_dwarf_each_unit(f, walk_unit, &w);
}
