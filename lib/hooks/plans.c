/*
 * A function is what the unwind table has: it says where hand-written code ends, too, and a part
 * that the compiler has put elsewhere is a function of its own. Without an entry there the symbol
 * says it. Then all code of the file is looked through for branches into what would be replaced,
 * and so are symbols, relocations, the tables of exceptions and of sequences that are restarted.
 */
#include "hooks/plans.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/order.h"
#include "cfi/pads.h"
#include "cfi/section.h"
#include "elf/file.h"
#include "functions/functions.h"
#include "functions/list.h"
#include "patch/decode.h"
#include "patch/exits.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* As the kernel reads it (linux/rseq.h). */
struct rseq_cs {
	uint32_t version, flags;
	uint64_t start_ip, post_commit_offset, abort_ip;
};

enum {
	MAX_FUNCTIONS = 1 << 20,
	MAX_FUNCTION_BYTES = 16 << 20,
	MAX_PADDING = 16,
	MAX_RELOCATIONS = 1 << 22,
	MAX_SECTIONS = 1 << 12,       /* with code or relocations */
	MAX_SCANNED_BYTES = 1 << 30,  /* of all sections, which may overlap */
	MAX_FOLLOWED_BYTES = 1 << 26, /* of functions that others jump to */
	MAX_PADS_BYTES = 4 << 20,
	MAX_RESTARTS = 1 << 12,
	NR_LINKS = 3,
};

struct code {
	const struct elf_file *file;
	struct cfi_section frames;
	struct cfi_base base;
	uint64_t slots, slots_end;
	struct cfi_fde *fde; /* owned; by address, without overlaps */
	size_t nr, room;
	struct functions_list symbols;
	struct elf_section links[NR_LINKS]; /* the linker's jumps to other files; size 0: none */
	struct elf_section restarts;        /* of struct rseq_cs; size 0: none */
	uint64_t *cold;                     /* owned; parts of functions, by address */
	uint64_t followed;                  /* bytes */
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

static void find_links(struct code *c)
{
	static const char *const names[NR_LINKS] = {".plt", ".plt.sec", ".plt.got"};

	for (size_t i = 0; i < NR_LINKS; i++)
		if (!elf_file_find_section(c->file, names[i], &c->links[i]))
			c->links[i].size = 0;
}

static int find_cold(struct code *c)
{
	const size_t nr = c->symbols.nr_cold;

	c->cold = mem_calloc(nr + 1, sizeof(*c->cold));
	if (!c->cold)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		c->cold[i] = c->symbols.cold[i].address;
	order_sort(c->cold, nr, sizeof(*c->cold), order_numbers);
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	return order_u64(x->start, y->start);
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
	order_sort(c->fde, c->nr, sizeof(*c->fde), by_start);
	for (size_t i = 0; i < c->nr; i++)
		if (!nr || c->fde[i].start >= c->fde[nr - 1].start + c->fde[nr - 1].len)
			c->fde[nr++] = c->fde[i];
	c->nr = nr;
	return 0;
}

static bool is_in(uint64_t address, uint64_t start, uint64_t size)
{
	return address >= start && address - start < size;
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
	struct code *code;
	const struct cfi_fde *fde; /* NULL: it has none */
	uint64_t start, size;
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

/* --- where its jumps lead to */

static bool is_cold(const struct code *c, uint64_t address)
{
	return c->symbols.nr_cold &&
	       bsearch(&address, c->cold, c->symbols.nr_cold, sizeof(address), order_numbers);
}

/* What is known of code that the function jumps to. */
struct followed {
	bool is_whole;  /* all of it is understood */
	bool may_leave; /* and return, or lead to a third */
	bool is_part;   /* it jumps into the function */
};

static void follow_one(const struct asked *a, const struct cfi_fde *to,
		       const struct patch_instruction *i, uint64_t at, struct followed *out)
{
	const uint64_t target = at + i->len + (uint64_t)(int64_t)i->relative;

	if (i->flow == PATCH_RETURNS || i->flow == PATCH_JUMPS_INDIRECT)
		out->may_leave = true;
	if (!patch_has_target(i) || i->flow == PATCH_CALLS || is_in(target, to->start, to->len))
		return;
	if (is_in(target, a->start, a->size))
		out->is_part |= target != a->start;
	else
		out->may_leave = true;
}

static struct followed follow(const struct asked *a, const struct cfi_fde *to)
{
	struct followed out = {.is_whole = false};
	struct patch_instruction i = {0};
	bool goes_on = true;
	size_t len, at = 0;
	const uint8_t *bytes = elf_file_bytes(a->code->file, to->start, to->len, &len);

	a->code->followed += to->len;
	if (!bytes || len < to->len || a->code->followed > MAX_FOLLOWED_BYTES)
		return out;
	for (; at < len && patch_decode(bytes + at, len - at, &i); at += i.len) {
		follow_one(a, to, &i, to->start + at, &out);
		if (!i.is_nop)
			goes_on = !patch_ends(&i) && i.flow != PATCH_CALLS;
	}
	out.is_whole = at == len;
	out.may_leave |= goes_on;
	return out;
}

static enum patch_leaving find_leaving(void *arg, uint64_t target)
{
	const struct asked *a = arg;
	struct code *c = a->code;
	const size_t behind = find_behind(c, target);
	const struct cfi_fde *to = behind ? &c->fde[behind - 1] : NULL;
	struct followed f;

	if (ARRAY_ANY(l, c->links, NR_LINKS, is_in(target, l->address, l->size)))
		return PATCH_LEAVES_FOR_GOOD;
	if (!to || !is_in(target, to->start, to->len))
		return PATCH_LEAVES_UNKNOWN;
	f = follow(a, to);
	if (f.is_whole && !f.may_leave)
		return PATCH_LEAVES_NEVER;
	return f.is_whole && !f.is_part && target == to->start && !is_cold(c, target)
		   ? PATCH_LEAVES_FOR_GOOD
		   : PATCH_LEAVES_UNKNOWN;
}

static void ignore_pad(void *arg, uint64_t address)
{
	(void)arg, (void)address;
}

static bool each_pad(const struct code *c, const struct cfi_fde *fde,
		     void (*fn)(void *arg, uint64_t address), void *arg)
{
	const uint8_t *bytes;
	size_t len;

	if (!fde->pads)
		return true;
	bytes = elf_file_bytes(c->file, fde->pads, MAX_PADS_BYTES, &len);
	return bytes && cfi_pads_each(fde, bytes, len, fn, arg);
}

/* 0 or -ENOMEM. */
static int decide_exits(struct asked *asked, const struct patch_function *f, struct hooks_plan *p)
{
	struct patch_plan exits[PATCH_MAX_EXITS];
	enum patch_untimed untimed;
	size_t nr = 0;

	if (asked->fde && !each_pad(asked->code, asked->fde, ignore_pad, NULL)) {
		p->untimed = "its table of exceptions is not understood";
		return 0;
	}
	untimed = patch_exits(f, &p->plan, exits, &nr);
	if (untimed != PATCH_TIMED) {
		p->untimed = patch_untimed_text(untimed);
		return 0;
	}
	p->exits = mem_calloc(nr, sizeof(*p->exits));
	if (!p->exits)
		return -ENOMEM;
	memcpy(p->exits, exits, nr * sizeof(*exits));
	p->nr_exits = nr;
	return 0;
}

static const char *decide(struct code *c, bool is_timed, struct hooks_plan *p, int *rc)
{
	const uint64_t start = p->place->address;
	const size_t behind = find_behind(c, start);
	const struct cfi_fde *before = behind ? &c->fde[behind - 1] : NULL;
	struct asked asked = {.code = c, .start = start};
	uint64_t size = p->place->size;
	struct patch_function function;
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
	asked.size = size;
	function =
	    (struct patch_function){.code = {bytes, size, start},
				    .padding_len = padding_of(c, start + size, behind, len - size),
				    .slots = c->slots,
				    .slots_end = c->slots_end,
				    .depth = find_depth,
				    .leaves = find_leaving,
				    .arg = &asked};
	refusal = patch_plan(&function, &p->plan);
	if (refusal != PATCH_ACCEPTED)
		return patch_refusal_text(refusal);
	*rc = is_timed ? decide_exits(&asked, &function, p) : 0;
	return NULL;
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

/* A sequence that the kernel restarts if it was interrupted there. What is moved is elsewhere, and
 * would go on. */
static void mark_restart(const struct elf_section *restarts, size_t row, uint64_t start,
			 struct patch_span *spans, size_t nr)
{
	uint64_t len;

	memcpy(&len,
	       restarts->data + row * sizeof(struct rseq_cs) +
		   offsetof(struct rseq_cs, post_commit_offset),
	       sizeof(len));
	for (size_t k = ORDER_FIRST(i, nr, spans[i].to > start);
	     k < nr && (spans[k].from <= start || spans[k].from - start < len); k++)
		spans[k].is_restarted = true;
}

/* Where they begin is in the file, or in a relocation. */
static void mark_restarts(const struct elf_section *restarts, struct patch_span *spans, size_t nr)
{
	uint64_t start;

	for (size_t i = 0; i < restarts->size / sizeof(struct rseq_cs); i++) {
		memcpy(&start,
		       restarts->data + i * sizeof(struct rseq_cs) +
			   offsetof(struct rseq_cs, start_ip),
		       sizeof(start));
		mark_restart(restarts, i, start, spans, nr);
	}
}

/* Addresses of labels, in tables of a program. */
static void mark_relocations(const struct code *c, const struct elf_section *s,
			     struct patch_span *spans, size_t nr)
{
	const struct elf_section *restarts = &c->restarts;
	Elf64_Rela r;

	for (size_t i = 0; i < s->size / sizeof(r) && i < MAX_RELOCATIONS; i++) {
		memcpy(&r, s->data + i * sizeof(r), sizeof(r));
		patch_scan_mark(spans, nr, (uint64_t)r.r_addend);
		if (is_in(r.r_offset, restarts->address, restarts->size) &&
		    (r.r_offset - restarts->address) % sizeof(struct rseq_cs) ==
			offsetof(struct rseq_cs, start_ip))
			mark_restart(restarts,
				     (r.r_offset - restarts->address) / sizeof(struct rseq_cs),
				     (uint64_t)r.r_addend, spans, nr);
	}
}

/* False: there is too much of it, or it cannot be read. */
static bool find_restarts(struct code *c)
{
	struct elf_section *s = &c->restarts;

	if (!elf_file_find_section(c->file, "__rseq_cs", s)) {
		s->size = 0;
		return true;
	}
	return s->size <= MAX_RESTARTS * sizeof(struct rseq_cs) &&
	       s->size % sizeof(struct rseq_cs) == 0 && elf_file_load(c->file, s);
}

struct marked {
	struct patch_span *spans;
	size_t nr;
};

static void mark_pad(void *arg, uint64_t address)
{
	const struct marked *m = arg;

	patch_scan_mark(m->spans, m->nr, address);
}

/* False: there is too much of it, or it cannot be read. */
static bool scan_all(struct code *c, struct patch_span *spans, size_t nr)
{
	size_t nr_sections = 0;
	uint64_t bytes = 0;
	struct elf_section s;

	if (!find_restarts(c))
		return false;
	mark_restarts(&c->restarts, spans, nr);
	for (size_t i = 0; i < c->symbols.nr; i++)
		patch_scan_mark(spans, nr, c->symbols.symbol[i].address);
	for (size_t i = 0; i < c->nr; i++)
		(void)each_pad(c, &c->fde[i], mark_pad, &(struct marked){spans, nr});
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
			mark_relocations(c, &s, spans, nr);
	}
	return true;
}

static int by_from(const void *a, const void *b)
{
	const struct patch_span *x = a, *y = b;

	return order_u64(x->from, y->from);
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

static size_t add_spans(const struct hooks_plan *p, struct patch_span *to)
{
	size_t nr = 0;

	if (p->refused)
		return 0;
	to[nr++] = p->plan.span;
	for (size_t i = 0; i < p->nr_exits; i++)
		to[nr++] = p->exits[i].span;
	return nr;
}

static void drop_exits(struct hooks_plan *p)
{
	mem_free(p->exits);
	p->exits = NULL;
	p->nr_exits = 0;
	p->plan.kind = PATCH_COUNTS;
}

static void refuse_if_entered(const struct patch_span *spans, size_t nr, struct hooks_plan *p)
{
	const struct patch_span *begin =
	    p->refused ? NULL : find_span(spans, nr, p->plan.span.from);
	bool is_entered = false, is_restarted = false;

	if (!begin)
		return;
	if (begin->is_entered || begin->is_restarted)
		p->refused = begin->is_entered
				 ? patch_refusal_text(PATCH_IS_ENTERED)
				 : "the kernel restarts its first instructions (rseq)";
	for (size_t i = 0; i < p->nr_exits; i++) {
		const struct patch_span *end = find_span(spans, nr, p->exits[i].span.from);

		is_entered |= end->is_entered;
		is_restarted |= end->is_restarted;
	}
	if (p->refused || !(is_entered || is_restarted))
		return;
	drop_exits(p);
	p->untimed = is_entered ? patch_untimed_text(PATCH_EXIT_IS_ENTERED)
				: "the kernel restarts its last instructions (rseq)";
}

static int refuse_entered(struct code *c, struct hooks_plan *plans, size_t nr)
{
	struct patch_span *spans;
	size_t nr_spans = 0;
	bool is_seen;

	for (size_t i = 0; i < nr; i++)
		nr_spans += 1 + plans[i].nr_exits;
	spans = mem_calloc(nr_spans + 1, sizeof(*spans));
	if (!spans)
		return -ENOMEM;
	nr_spans = 0;
	for (size_t i = 0; i < nr; i++)
		nr_spans += add_spans(&plans[i], spans + nr_spans);
	order_sort(spans, nr_spans, sizeof(*spans), by_from);
	nr_spans = drop_overlaps(spans, nr_spans);
	is_seen = !nr_spans || scan_all(c, spans, nr_spans);
	for (size_t i = 0; i < nr && !is_seen; i++)
		plans[i].refused =
		    "other code of its file could not be read, which may lead into it";
	for (size_t i = 0; i < nr; i++)
		refuse_if_entered(spans, nr_spans, &plans[i]);
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

static int decide_all(struct code *c, bool is_timed, struct hooks_plan *plans, size_t nr)
{
	const char *refused = refuse_file(c);
	int rc = refused ? 0 : read_frames(c) ?: find_cold(c);

	if (rc)
		return rc;
	find_slots(c);
	find_links(c);
	for (size_t i = 0; i < nr && rc == 0; i++)
		plans[i].refused = refused ?: decide(c, is_timed, &plans[i], &rc);
	return rc ?: refused ? 0 : refuse_entered(c, plans, nr);
}

int hooks_plans_make(const struct elf_file *f, const char *path, struct elf_reader *reader,
		     bool is_timed, struct hooks_plan *plans, size_t nr)
{
	struct code c = {.file = f};
	int rc = functions_list_load(f, path, reader, &c.symbols);

	if (rc)
		return rc;
	rc = decide_all(&c, is_timed, plans, nr);
	functions_list_fini(&c.symbols);
	mem_free(c.cold);
	mem_free(c.fde);
	return rc;
}

void hooks_plans_fini(struct hooks_plan *plans, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		mem_free(plans[i].exits);
}
