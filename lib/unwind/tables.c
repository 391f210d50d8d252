/*
 * Opens a file on the first lookup of an address in it, and the separate debug file only if the
 * code has no entry.
 */
#include "unwind/tables.h"

#include "base/array.h"
#include "base/mem.h"
#include "elf/file.h"
#include "elf/finder.h"
#include "elf/pclntab.h"
#include "unwind/call.h"
#include "unwind/machine.h"
#include "unwind/object.h"
#include "unwind/rows.h"

#include <string.h>

enum {
	MAX_OBJECTS = 1 << 20,
	MAX_BARE_BYTES = 64 << 10, /* of a function without a row */
	POINTER_BYTES = 8 << 20,   /* more code without rows is not assembler: as Chromium's */
};

struct object {
	bool is_tried, is_debug_tried;
	bool is_go;                        /* of x86-64 */
	const struct elf_file *file;       /* NULL: none that may be used */
	struct unwind_object *tables;      /* owned */
	const struct cfi_machine *machine; /* of file */
};

struct unwind_tables {
	struct elf_finder *finder;
	struct unwind_maps maps;
	const struct elf_file *vdso;
	const struct unwind_machine *machine;
	struct object *object; /* by number */
	size_t nr_objects;
	struct unwind_rows rows;
	struct cfi_row last; /* the result, if there is no memory for rows */
};

static const struct cfi_row unknown = {.kind = CFI_ROW_UNKNOWN};

struct unwind_tables *unwind_tables_new(struct elf_finder *finder, const struct unwind_maps *maps,
					const struct elf_file *vdso, const struct unwind_machine *m)
{
	struct unwind_tables *t = mem_zalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->finder = finder;
	t->maps = *maps;
	t->vdso = vdso;
	t->machine = m;
	unwind_rows_init(&t->rows);
	return t;
}

void unwind_tables_free(struct unwind_tables *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nr_objects; i++)
		unwind_object_close(t->object[i].tables);
	unwind_rows_fini(&t->rows);
	mem_free(t->object);
	mem_free(t);
}

static struct object *object_of(struct unwind_tables *t, uint32_t number)
{
	size_t nr = t->nr_objects ? t->nr_objects : 64;
	struct object *all;

	if (number < t->nr_objects)
		return &t->object[number];
	while (nr <= number && nr < MAX_OBJECTS)
		nr *= 2;
	all = number < nr ? mem_resize(t->object, nr * sizeof(*all)) : NULL;
	if (!all)
		return NULL;
	memset(all + t->nr_objects, 0, (nr - t->nr_objects) * sizeof(*all));
	t->object = all;
	t->nr_objects = nr;
	return &all[number];
}

static struct elf_wanted wanted(const struct unwind_tables *t, const struct unwind_mapping *m)
{
	struct unwind_file f = {.path = ""};
	struct elf_wanted w;

	t->maps.want(t->maps.arg, m, &f);
	w = (struct elf_wanted){
	    .path = f.path, .major = f.major, .minor = f.minor, .inode = f.inode};
	w.build_id.len =
	    f.build_id_len < sizeof(w.build_id.bytes) ? f.build_id_len : sizeof(w.build_id.bytes);
	if (w.build_id.len)
		memcpy(w.build_id.bytes, f.build_id, w.build_id.len);
	return w;
}

static void open_object(struct unwind_tables *t, struct object *o, const struct unwind_mapping *p)
{
	const struct unwind_machine *m;
	const struct elf_file *file = NULL;
	struct elf_wanted w;

	o->is_tried = true;
	if (p->kind == UNWIND_OBJECT_VDSO) {
		file = t->vdso;
	} else if (p->kind == UNWIND_OBJECT_FILE) {
		w = wanted(t, p);
		file = elf_finder_code(t->finder, &w);
	}
	m = file ? unwind_machine_of(t->machine, file) : NULL;
	if (!m)
		return;
	o->tables = unwind_object_open(file);
	o->machine = m->cfi;
	if (!o->tables)
		return;
	o->file = file;
	o->is_go = o->machine == &cfi_machine_x86_64 && elf_pclntab_is_there(file);
}

/* Uses the separate debug file if the code has no entry. */
static bool find_rules(struct unwind_tables *t, struct object *o, const struct unwind_mapping *p,
		       uint64_t address, struct cfi_rules *out)
{
	struct elf_wanted w;

	if (unwind_object_rules(o->tables, o->machine, address, out))
		return true;
	if (o->is_debug_tried || p->kind != UNWIND_OBJECT_FILE)
		return false;
	o->is_debug_tried = true;
	w = wanted(t, p);
	unwind_object_add_debug(o->tables, elf_finder_debug(t->finder, &w));
	return unwind_object_rules(o->tables, o->machine, address, out);
}

/* The first and last address of its segment. */
static void find_code(const struct object *o, uint64_t address, uint64_t *first, uint64_t *last)
{
	struct elf_segment s;

	*first = *last = address;
	for (size_t i = 0; i < elf_file_nr_segments(o->file); i++) {
		elf_file_segment(o->file, i, &s);
		if (address < s.address || address - s.address >= s.file_bytes)
			continue;
		*first = s.address;
		*last = s.address + (s.file_bytes - 1);
	}
}

/* Of code without a row. */
static enum cfi_row_kind kind_of_bare(const struct object *o, uint64_t address)
{
	uint64_t start, next, first, last;

	unwind_object_around(o->tables, address, &start, &next);
	find_code(o, address, &first, &last);
	start = start > first ? start : first;
	next = next < last ? next : last;
	return next - start >= POINTER_BYTES ? CFI_ROW_POINTER : CFI_ROW_NONE;
}

const struct cfi_row *unwind_tables_find(struct unwind_tables *t, const struct cfi_machine *m,
					 const struct unwind_mapping *mapping, uint64_t address,
					 struct unwind_at *at)
{
	struct object *o = object_of(t, mapping->object);
	const struct cfi_row *row;
	struct cfi_rules rules;

	if (o && !o->is_tried)
		open_object(t, o, mapping);
	if (!o || !o->file || o->machine != m ||
	    !elf_file_address(o->file, address - mapping->start + mapping->offset, &at->address))
		return &unknown;
	at->object = mapping->object;
	row = unwind_rows_get(&t->rows, at->object, at->address);
	if (row)
		return row;
	if (find_rules(t, o, mapping, at->address, &rules))
		cfi_rules_row(&rules, m, &t->last);
	else
		t->last = (struct cfi_row){.kind = kind_of_bare(o, at->address)};
	row = unwind_rows_add(&t->rows, at->object, at->address, &t->last);
	return row ? row : &t->last;
}

/* NULL: it has none, or no file of it may be used. */
static const struct object *find_object(const struct unwind_tables *t, const struct unwind_at *at)
{
	const struct object *o = at->object < t->nr_objects ? &t->object[at->object] : NULL;

	return o && o->file ? o : NULL;
}

/* The object of the address, if it is a program of Go and has these bytes there. */
static const struct object *find_go_code(const struct unwind_tables *t, const struct unwind_at *at,
					 uint64_t address, const uint8_t *bytes, size_t nr)
{
	const struct object *o = find_object(t, at);
	const uint8_t *code;
	size_t len;

	if (!o || !o->is_go)
		return NULL;
	code = elf_file_bytes(o->file, address, nr, &len);
	return code && len == nr && memcmp(code, bytes, nr) == 0 ? o : NULL;
}

bool unwind_tables_leaves_stack(const struct unwind_tables *t, const struct unwind_at *at)
{
	/* mov %rdi, %rdx; mov (%rdi), %rdi; call *%rdi: what no compiler of Go makes */
	static const uint8_t call[] = {0x48, 0x89, 0xfa, 0x48, 0x8b, 0x3f, 0xff, 0xd7};

	return find_go_code(t, at, at->address + 1 - sizeof(call), call, sizeof(call));
}

bool unwind_tables_calls_c(const struct unwind_tables *t, const struct unwind_at *at)
{
	/* mov %rbx, %rdi; mov %rbx, %rcx; call *%rax */
	static const uint8_t call[] = {0x48, 0x89, 0xdf, 0x48, 0x89, 0xd9, 0xff, 0xd0};
	const struct object *o =
	    find_go_code(t, at, at->address + 1 - sizeof(call), call, sizeof(call));
	uint64_t offset;

	return o && unwind_object_is_in(o->tables, at->address, "runtime.asmcgocall", &offset);
}

bool unwind_tables_resumes(const struct unwind_tables *t, const struct unwind_at *at)
{
	static const uint8_t ret[] = {0xc3};
	const uint64_t address = at->address + 1;
	const struct object *o = find_go_code(t, at, address, ret, sizeof(ret));
	uint64_t offset;

	return o &&
	       unwind_object_is_in(o->tables, address, "runtime.systemstack_switch", &offset) &&
	       !offset;
}

bool unwind_tables_starts_context(const struct unwind_tables *t, const struct unwind_at *at)
{
	enum { ALIGNED = 16, ENDBR = 4, MAX = 10 };
	/* endbr64, where glibc is built for CET; mov %rbx, %rsp; mov (%rsp), %rdi, or pop %rdi;
	 * test %rdi, %rdi */
	static const uint8_t endbr[ENDBR] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const struct {
		uint8_t nr, code[MAX];
	} begins[] = {{10, {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff}},
		      {7, {0x48, 0x89, 0xdc, 0x5f, 0x48, 0x85, 0xff}}};
	const uint64_t address = at->address + 1;
	const struct object *o = find_object(t, at);
	const uint8_t *code;
	uint64_t to;
	size_t len;

	if (!o || o->machine != &cfi_machine_x86_64 || address % ALIGNED)
		return false;
	code = elf_file_bytes(o->file, address, ENDBR + MAX, &len);
	if (code && len > ENDBR && memcmp(code, endbr, ENDBR) == 0) {
		code += ENDBR;
		len -= ENDBR;
	}
	return code &&
	       ARRAY_ANY(b, begins, ARRAY_NR(begins),
			 len >= b->nr && memcmp(code, b->code, b->nr) == 0) &&
	       unwind_call_before(o->file, o->machine, address, &to) == UNWIND_CALL_NONE;
}

enum cfi_end unwind_tables_step(struct unwind_tables *t, const struct unwind_at *at,
				struct cfi_frame *f)
{
	struct cfi_rules rules;

	if (!unwind_object_rules(t->object[at->object].tables, f->machine, at->address, &rules))
		return CFI_NO_TABLE;
	return cfi_rules_apply(&rules, f);
}

/* Whether a function that begins there reaches to the address, if it has no row. */
static bool may_reach(const struct object *o, uint64_t begin, uint64_t address)
{
	return address - begin < MAX_BARE_BYTES && !unwind_object_begins(o->tables, begin, address);
}

enum unwind_leads unwind_tables_leads(struct unwind_tables *t, const struct unwind_at *call,
				      const struct unwind_at *bare, uint64_t *to)
{
	const struct object *o = find_object(t, call);
	struct cfi_rules rules;

	if (!o)
		return UNWIND_MAY_LEAD;
	switch (unwind_call_before(o->file, o->machine, call->address + 1, to)) {
	case UNWIND_CALL_NONE:
		return UNWIND_LEADS_ELSEWHERE;
	case UNWIND_CALL_UNKNOWN:
		return UNWIND_LEADS_ASIDE;
	case UNWIND_CALL_INDIRECT:
		return UNWIND_MAY_LEAD;
	default:
		if (unwind_call_jumps_on(o->file, o->machine, *to))
			return UNWIND_MAY_LEAD;
		if (unwind_object_rules(o->tables, o->machine, *to, &rules))
			return UNWIND_LEADS_ELSEWHERE;
		return call->object == bare->object && may_reach(o, *to, bare->address)
			   ? UNWIND_LEADS
			   : UNWIND_LEADS_ASIDE;
	}
}

bool unwind_tables_has_pushed(const struct unwind_tables *t, const struct unwind_at *at)
{
	const struct object *o = find_object(t, at);

	return o && unwind_call_has_pushed(o->file, o->machine, at->address);
}
