/*
 * The values of the file and the line at an address are counted up from the function's start. Where
 * calls were inlined, a third value is the number of a record: the name of the function, and a
 * place in the code that is of the line of the call. The same is asked of that place, up to the
 * function itself. If a record is not as it should be, none is used. A further value is how much of
 * the stack the function uses, which Go's runtime unwinds by.
 */
#include "base/array.h"
#include "base/order.h"
#include "elf/file.h"
#include "elf/layout.h"
#include "elf/pclntab_internal.h"

#include <elf.h>
#include <string.h>

enum {
	MAX_FUNCTION_BYTES = 64 << 20,
	MAX_STEPS = 1 << 17, /* of a table; the largest functions have ten thousand */
	MAX_TEXT_BYTES = 4096,
	CALLS_TABLE = 2, /* of the further tables: numbers of records of inlined calls */
	CALLS_DATA = 3,  /* of what is behind them: offset of the records */
};

/* A function, and a place in it. */
struct place {
	const uint8_t *record;
	size_t left; /* bytes of the table from the record on */
	uint64_t len;
	uint64_t offset;
};

static bool find_place(const struct elf_pclntab *t, uint64_t address, struct place *out)
{
	const size_t next = ORDER_FIRST(i, t->nr, elf_pclntab_start(t, i) > address);
	const uint8_t *record;
	size_t left = 0;
	uint64_t start;

	if (!next)
		return false;
	start = elf_pclntab_start(t, next - 1);
	record = elf_pclntab_record(t, next - 1, &left);
	*out = (struct place){record, left, elf_pclntab_start(t, next) - start, address - start};
	return record && out->len <= MAX_FUNCTION_BYTES && out->offset < out->len;
}

/* Of the record, behind the address. */
static uint32_t field(const struct elf_pclntab *t, const struct place *p, unsigned at)
{
	return (uint32_t)elf_load(p->record + t->layout->word + at, 4);
}

/* The value at the place; -1: it has none. */
static int32_t find_value(const struct elf_pclntab *t, const struct place *p, uint32_t table)
{
	struct elf_pclntab_values v;

	elf_pclntab_values_begin(t, table, &v);
	for (size_t i = 0; i < MAX_STEPS && elf_pclntab_values_next(&v); i++)
		if (p->offset < v.until)
			return v.value;
	return -1;
}

/* NULL: it is empty, or does not end. */
static const char *find_text(const struct elf_pclntab_part *part, uint64_t at)
{
	const size_t left = at < part->len ? part->len - at : 0;
	const char *text = left ? (const char *)part->data + at : NULL;

	return text && *text && memchr(text, '\0', left < MAX_TEXT_BYTES ? left : MAX_TEXT_BYTES)
		   ? text
		   : NULL;
}

/* Up to Go 1.15 there is one list of files for all, whose first number is how many there are. */
static const char *find_file(const struct elf_pclntab *t, const struct place *p)
{
	const int32_t number = find_value(t, p, field(t, p, ELF_PCLNTAB_FILE));
	const bool has_units = t->layout->first_part;
	const uint64_t from = has_units ? field(t, p, ELF_PCLNTAB_UNIT) : 0;

	if (number < !has_units || (from + (uint64_t)number + 1) * 4 > t->units.len)
		return NULL;
	return find_text(&t->files, elf_load(t->units.data + (from + (uint64_t)number) * 4, 4));
}

static void set_line(const struct elf_pclntab *t, const struct place *p,
		     struct elf_pclntab_line *out)
{
	const int32_t line = find_value(t, p, field(t, p, ELF_PCLNTAB_LINE));

	*out = (struct elf_pclntab_line){.file = find_file(t, p)};
	if (line > 0 && out->file)
		out->line = (uint32_t)line;
}

/* --- inlined calls --- */

/* The number of the call's record at the place; -1: none. *data: the offset of the records. */
static int32_t find_call(const struct elf_pclntab *t, const struct place *p, uint64_t *data)
{
	const uint64_t nr_tables = field(t, p, ELF_PCLNTAB_NR_TABLES);
	const uint64_t tables = t->layout->nr_data + UINT64_C(1), at = tables + 4 * nr_tables;

	if (nr_tables <= CALLS_TABLE || at + 4 * (CALLS_DATA + 1) > p->left ||
	    p->record[t->layout->nr_data] <= CALLS_DATA)
		return -1;
	*data = elf_load(p->record + at + UINT64_C(4) * CALLS_DATA, 4);
	if (*data == UINT32_MAX)
		return -1;
	return find_value(t, p,
			  (uint32_t)elf_load(p->record + tables + UINT64_C(4) * CALLS_TABLE, 4));
}

/* The name of the inlined function; *parent: the place of its call. NULL: invalid. */
static const char *read_call(const struct elf_pclntab *t, const struct place *p, uint64_t address,
			     uint64_t *parent)
{
	const struct elf_pclntab_layout *l = t->layout;
	size_t len = 0;
	const uint8_t *call = elf_file_bytes(t->file, address, l->call_bytes, &len);
	uint64_t name;

	if (!call || len < l->call_bytes)
		return NULL;
	name = elf_load(call + l->call_name, 4);
	*parent = elf_load(call + l->call_parent, 4);
	if (*parent >= p->len || !name || name >= t->names.len || t->names.data[name - 1])
		return NULL;
	return find_text(&t->names, name);
}

/* Adds the inlined functions at the place, which becomes the outermost call's. False: a record is
 * invalid, or there are too many. */
static bool unroll(const struct elf_pclntab *t, struct place *p,
		   struct elf_pclntab_line out[ELF_PCLNTAB_MAX_LINES], size_t *nr)
{
	uint64_t data, parent;
	int32_t call;

	while ((call = find_call(t, p, &data)) >= 0) {
		if (*nr == ELF_PCLNTAB_MAX_LINES - 1)
			return false;
		set_line(t, p, &out[*nr]);
		out[*nr].function = read_call(
		    t, p, t->calls + data + (uint64_t)call * t->layout->call_bytes, &parent);
		if (!out[(*nr)++].function)
			return false;
		p->offset = parent;
	}
	return true;
}

size_t elf_pclntab_lines(const struct elf_pclntab *t, uint64_t address, bool with_inlined,
			 struct elf_pclntab_line out[ELF_PCLNTAB_MAX_LINES])
{
	struct place p, outer;
	size_t nr = 0;

	if (!find_place(t, address, &p))
		return 0;
	outer = p;
	if (with_inlined && t->calls && unroll(t, &outer, out, &nr))
		p = outer;
	else
		nr = 0;
	set_line(t, &p, &out[nr]);
	return nr + 1;
}

/* --- frames --- */

static const char *name_of(const struct elf_pclntab *t, const struct place *p)
{
	return find_text(&t->names, field(t, p, ELF_PCLNTAB_NAME)) ?: "";
}

/* Whether it has no caller of Go but is called by a signal, of which no table knows. */
static bool is_handler(const struct elf_pclntab *t, const struct place *p)
{
	static const char prefix[] = "runtime.sig";

	return strncmp(name_of(t, p), prefix, sizeof(prefix) - 1) == 0;
}

/* Whether the table does not lead back: a function that goes on with another stack. One of them
 * has such a frame on both. */
static bool is_left(const struct elf_pclntab *t, const struct place *p, uint8_t flags)
{
	return flags & ELF_PCLNTAB_SETS_STACK && strcmp(name_of(t, p), "runtime.cgocallback") != 0;
}

enum elf_pclntab_frame elf_pclntab_frame(const struct elf_pclntab *t, uint64_t address,
					 uint32_t *bytes)
{
	struct place p;
	uint8_t flags;
	bool is_top;
	int32_t depth;

	if (!t->layout->nr_data || !find_place(t, address, &p) || p.left < t->layout->nr_data)
		return ELF_PCLNTAB_NO_FRAME;
	flags = p.record[t->layout->nr_data - 2];
	is_top = flags & ELF_PCLNTAB_IS_TOP;
	depth = find_value(t, &p, field(t, &p, ELF_PCLNTAB_STACK));
	if (is_left(t, &p, flags) || depth < 0 || (is_top && is_handler(t, &p)))
		return ELF_PCLNTAB_NO_FRAME;
	*bytes = (uint32_t)depth;
	return is_top ? ELF_PCLNTAB_OUTERMOST : ELF_PCLNTAB_FRAME;
}

bool elf_pclntab_is_in(const struct elf_pclntab *t, uint64_t address, const char *name,
		       uint64_t *offset)
{
	struct place p;

	if (!find_place(t, address, &p))
		return false;
	*offset = p.offset;
	return strcmp(name_of(t, &p), name) == 0;
}

bool elf_pclntab_begins(const struct elf_pclntab *t, uint64_t first, uint64_t last)
{
	const size_t next = ORDER_FIRST(i, t->nr, elf_pclntab_start(t, i) > first);

	return next < t->nr && elf_pclntab_start(t, next) <= last;
}

static bool is_in_section(const struct elf_file *f, uint64_t address)
{
	struct elf_section s;

	for (size_t i = 0; i < elf_file_nr_sections(f); i++)
		if (elf_file_section(f, i, &s) && s.is_held && s.flags & SHF_ALLOC &&
		    address >= s.address && address - s.address < s.size)
			return true;
	return false;
}

/* Of one version, the word that another has there is a small number. */
void elf_pclntab_find_calls(struct elf_pclntab *t)
{
	const uint64_t module = t->layout->nr_data ? elf_pclntab_module(t, false) : 0;

	for (size_t i = 0; i < ARRAY_NR(t->layout->calls) && module && !t->calls; i++)
		if (!t->layout->calls[i] ||
		    !elf_pclntab_word(t->file, module + t->layout->calls[i], &t->calls) ||
		    !is_in_section(t->file, t->calls))
			t->calls = 0;
}
