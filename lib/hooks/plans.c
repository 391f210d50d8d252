/*
 * A function is what the unwind table has: it says where hand-written code ends, too, and a part
 * that the compiler has put elsewhere is a function of its own. Without an entry there the symbol
 * says it. Then all code of the file is looked through for branches into what would be replaced,
 * and so are symbols and relocations.
 */
#include "hooks/plans.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/order.h"
#include "cfi/section.h"
#include "elf/file.h"
#include "functions/functions.h"
#include "functions/list.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_FUNCTIONS = 1 << 20,
	MAX_FUNCTION_BYTES = 16 << 20,
	MAX_PADDING = 16,
	MAX_RELOCATIONS = 1 << 22,
	MAX_SECTIONS = 1 << 12,      /* with code or relocations */
	MAX_SCANNED_BYTES = 1 << 30, /* of all sections, which may overlap */
};

struct code {
	const struct elf_file *file;
	struct cfi_section frames;
	struct cfi_base base;
	uint64_t slots, slots_end;
	struct cfi_fde *fde; /* owned; by address, without overlaps */
	size_t nr, room;
	struct functions_list symbols;
};

/* --- the file */

static void find_slots(struct code *c)
{
	static const char *const names[] = {".got", ".got.plt"};
	struct elf_section s;

	for (size_t i = 0; i < ARRAY_NR(names); i++)
		if (elf_file_find_section(c->file, names[i], &s)) {
			c->slots = c->slots ?: s.address;
			c->slots_end = s.address + s.size;
		}
}

static int by_start(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int read_frames(struct code *c)
{
	struct elf_section s;
	struct cfi_fde fde;
	uint64_t at = 0;
	size_t nr = 0;
	bool is_fde;

	if (!elf_file_load_section(c->file, ".eh_frame", &s))
		return 0;
	c->frames = (struct cfi_section){
	    .data = s.data, .len = s.size, .address = s.address, .is_eh = true};
	c->base = cfi_section_base(&c->frames);
	while (c->nr < MAX_FUNCTIONS && cfi_section_next(&c->frames, &at, &fde, &is_fde)) {
		struct cfi_fde *to;

		if (!is_fde || !fde.len || fde.len > MAX_FUNCTION_BYTES)
			continue;
		to = MEM_ADD(c->fde, c->nr, c->room);
		if (!to)
			return -ENOMEM;
		*to = fde;
	}
	if (c->nr)
		qsort(c->fde, c->nr, sizeof(*c->fde), by_start);
	for (size_t i = 0; i < c->nr; i++)
		if (!nr || c->fde[i].start >= c->fde[nr - 1].start + c->fde[nr - 1].len)
			c->fde[nr++] = c->fde[i];
	c->nr = nr;
	return 0;
}

/* The number of the first one that begins behind the address. */
static size_t find_behind(const struct code *c, uint64_t address)
{
	return ORDER_FIRST(i, c->nr, c->fde[i].start > address);
}

/* Where that one begins; UINT64_MAX: there is none. */
static uint64_t start_behind(const struct code *c, size_t behind)
{
	return c->fde && behind < c->nr ? c->fde[behind].start : UINT64_MAX;
}

/* Of symbols that begin behind the address; UINT64_MAX: there is none. */
static uint64_t find_symbol_behind(const struct code *c, uint64_t address)
{
	size_t first = ORDER_FIRST(i, c->symbols.nr, c->symbols.symbol[i].address > address);

	return first < c->symbols.nr ? c->symbols.symbol[first].address : UINT64_MAX;
}

/* --- one function */

struct asked {
	const struct code *code;
	const struct cfi_fde *fde;
};

static bool find_depth(void *arg, uint64_t address, int64_t *least, int64_t *most)
{
	enum { RBP = 6, RSP = 7, WORD = 8 };
	const struct asked *a = arg;
	struct cfi_rules rules;

	if (!a->fde ||
	    !cfi_program_run(&cfi_machine_x86_64, a->fde, &a->code->base, address, &rules) ||
	    rules.cfa.kind != CFI_RULE_REG || (rules.cfa.off != RSP && rules.cfa.off != RBP))
		return false;
	*least = rules.cfa.plus - WORD;
	*most = rules.cfa.off == RSP ? *least : INT64_MAX;
	return true;
}

/* How far behind the function nothing else begins. */
static size_t padding_of(const struct code *c, uint64_t end, size_t behind, size_t room)
{
	uint64_t next = find_symbol_behind(c, end - 1);

	if (start_behind(c, behind) < next)
		next = start_behind(c, behind);
	return next - end < room ? (size_t)(next - end) : room;
}

static const char *decide(const struct code *c, struct hooks_plan *p)
{
	const uint64_t start = p->place->address;
	const size_t behind = find_behind(c, start);
	const struct cfi_fde *before = behind ? &c->fde[behind - 1] : NULL;
	struct asked asked = {.code = c};
	uint64_t size = p->place->size;
	enum patch_refusal refusal;
	const uint8_t *bytes;
	size_t len;

	if (before && before->start == start) {
		asked.fde = before;
		size = before->len;
	} else if (before && start - before->start < before->len) {
		return "begins within another function";
	} else if (size > start_behind(c, behind) - start) {
		return "another function begins within it";
	}
	if (!size || size > MAX_FUNCTION_BYTES)
		return "nothing says where it ends";
	bytes = elf_file_bytes(c->file, start, size + MAX_PADDING, &len);
	if (!bytes || len < size)
		return "its code is not in the file";
	refusal = patch_plan(
	    &(struct patch_function){.code = {bytes, size, start},
				     .padding_len = padding_of(c, start + size, behind, len - size),
				     .slots = c->slots,
				     .slots_end = c->slots_end,
				     .depth = find_depth,
				     .arg = &asked},
	    &p->plan);
	return refusal == PATCH_ACCEPTED ? NULL : patch_refusal_text(refusal);
}

/* --- what leads into what is replaced */

static void scan_part(const struct elf_section *s, uint64_t from, uint64_t to,
		      struct patch_span *spans, size_t nr)
{
	const struct patch_code code = {s->data + (from - s->address), to - from, from};

	if (from < to)
		(void)patch_scan(&code, spans, nr);
}

/* Between functions, too. */
static void scan_section(const struct code *c, const struct elf_section *s,
			 struct patch_span *spans, size_t nr)
{
	const uint64_t end = s->address + s->size;
	uint64_t at = s->address;

	for (size_t i = at ? find_behind(c, at - 1) : 0; i < c->nr && c->fde[i].start < end; i++) {
		const struct cfi_fde *f = &c->fde[i];

		if (f->start < at || f->len > end - f->start)
			continue;
		scan_part(s, at, f->start, spans, nr);
		scan_part(s, f->start, f->start + f->len, spans, nr);
		at = f->start + f->len;
	}
	scan_part(s, at, end, spans, nr);
}

/* Addresses of labels, in tables of a program. */
static void mark_relocations(const struct elf_section *s, struct patch_span *spans, size_t nr)
{
	Elf64_Rela r;

	for (size_t i = 0; i < s->size / sizeof(r) && i < MAX_RELOCATIONS; i++) {
		memcpy(&r, s->data + i * sizeof(r), sizeof(r));
		patch_scan_mark(spans, nr, (uint64_t)r.r_addend);
	}
}

/* False: there is too much of it, or it cannot be read. */
static bool scan_all(const struct code *c, struct patch_span *spans, size_t nr)
{
	size_t nr_sections = 0;
	uint64_t bytes = 0;
	struct elf_section s;

	for (size_t i = 0; i < c->symbols.nr; i++)
		patch_scan_mark(spans, nr, c->symbols.symbol[i].address);
	for (size_t i = 0; elf_file_section(c->file, i, &s); i++) {
		if (!(s.flags & SHF_ALLOC) || !s.is_held ||
		    !(s.flags & SHF_EXECINSTR || s.type == SHT_RELA))
			continue;
		bytes += s.size < MAX_SCANNED_BYTES ? s.size : MAX_SCANNED_BYTES;
		if (bytes >= MAX_SCANNED_BYTES || nr_sections++ == MAX_SECTIONS ||
		    !elf_file_load(c->file, &s))
			return false;
		if (s.flags & SHF_EXECINSTR)
			scan_section(c, &s, spans, nr);
		else
			mark_relocations(&s, spans, nr);
	}
	return true;
}

static int by_from(const void *a, const void *b)
{
	const struct patch_span *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static const struct patch_span *find_span(const struct patch_span *spans, size_t nr, uint64_t from)
{
	const struct patch_span key = {.from = from};

	return bsearch(&key, spans, nr, sizeof(key), by_from);
}

/* Several names of one begin have one span. Others that overlap lead into each other. */
static size_t drop_overlaps(struct patch_span *spans, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		struct patch_span *last = kept ? &spans[kept - 1] : NULL;

		if (last && last->from == spans[i].from)
			last->is_entered |= last->to != spans[i].to;
		else
			spans[kept++] = spans[i];
		if (last && spans[kept - 1].from < last->to && last != &spans[kept - 1])
			last->is_entered = spans[kept - 1].is_entered = true;
	}
	return kept;
}

static int refuse_entered(const struct code *c, struct hooks_plan *plans, size_t nr)
{
	struct patch_span *spans = mem_calloc(nr + 1, sizeof(*spans));
	size_t nr_spans = 0;
	bool is_seen;

	if (!spans)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		if (!plans[i].refused)
			spans[nr_spans++] = plans[i].plan.span;
	if (nr_spans)
		qsort(spans, nr_spans, sizeof(*spans), by_from);
	nr_spans = drop_overlaps(spans, nr_spans);
	is_seen = !nr_spans || scan_all(c, spans, nr_spans);
	for (size_t i = 0; i < nr && !is_seen; i++)
		plans[i].refused =
		    "other code of its file could not be read, which may lead into it";
	for (size_t i = 0; i < nr; i++)
		if (!plans[i].refused &&
		    find_span(spans, nr_spans, plans[i].plan.span.from)->is_entered)
			plans[i].refused = patch_refusal_text(PATCH_IS_ENTERED);
	mem_free(spans);
	return 0;
}

/* --- the whole */

static const char *refuse_file(const struct code *c)
{
	if (!elf_file_is_64(c->file) || elf_file_machine(c->file) != EM_X86_64)
		return "only code of x86-64 is understood";
	/* They begin with 2 KiB, and what a thread does at its first call takes more. */
	return c->symbols.is_go ? "the stacks of Go's functions are too small for the agent" : NULL;
}

static int decide_all(struct code *c, struct hooks_plan *plans, size_t nr)
{
	const char *refused = refuse_file(c);
	int rc = refused ? 0 : read_frames(c);

	if (rc)
		return rc;
	find_slots(c);
	for (size_t i = 0; i < nr; i++)
		plans[i].refused = refused ?: decide(c, &plans[i]);
	return refused ? 0 : refuse_entered(c, plans, nr);
}

int hooks_plans_make(const struct elf_file *f, const char *path, struct elf_reader *reader,
		     struct hooks_plan *plans, size_t nr)
{
	struct code c = {.file = f};
	int rc = functions_list_load(f, path, reader, &c.symbols);

	if (rc)
		return rc;
	rc = decide_all(&c, plans, nr);
	functions_list_fini(&c.symbols);
	mem_free(c.fde);
	return rc;
}
