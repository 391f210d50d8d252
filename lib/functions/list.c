/*
 * Names stay in the file: what is found is copied by whoever wants it.
 */
#include "functions/list.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "elf/file.h"
#include "elf/finder.h"
#include "elf/inlined.h"
#include "elf/pclntab.h"
#include "elf/unpack.h"
#include "functions/entry.h"
#include "functions/pattern.h"
#include "functions/symbols.h"

#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_SYMBOLS = 1 << 22,
	MAX_NAME_BYTES = 4096,
	MAX_UNPACKED_BYTES = 256 << 20,
};

/* --- what is refused, and what has no times, by name */

struct named {
	const char *glob, *why;
};

#define STARTS  "it is code of the program's start, or of its end"
#define RETURNS "the kernel returns from signals by it, not by a call"
#define THUNK   "it is not called as functions are"
#define LOADER  "it is code of the dynamic loader"
#define OWN     "it is cpuperf's own"

static const struct named refused_files[] = {
    {"ld-linux*.so*", LOADER}, {"ld-musl-*", LOADER},         {"ld-2.*.so", LOADER},
    {"ld64.so*", LOADER},      {"libcpuperf-agent.so*", OWN}, {"libcpuperf_marks.so*", OWN},
};

static const struct named refused_names[] = {
    {"_start", STARTS},
    {"_init", STARTS},
    {"_fini", STARTS},
    {"__libc_start_*", STARTS},
    {"__libc_csu_*", STARTS},
    {"__libc_setup_tls", STARTS},
    {"__libc_init_*", STARTS},
    {"_dl_relocate_static_pie", STARTS},
    {"call_init*", STARTS},
    {"frame_dummy", STARTS},
    {"register_tm_clones", STARTS},
    {"deregister_tm_clones", STARTS},
    {"__do_global_dtors_aux", STARTS},
    {"__restore", RETURNS},
    {"__restore_rt", RETURNS},
    {"__kernel_rt_sigreturn", RETURNS},
    {"__x86_*thunk*", THUNK},
    {"__x86.get_pc_thunk.*", THUNK},
    {"__llvm_retpoline_*", THUNK},
    {"_dl_runtime_resolve*", THUNK},
    {"_dl_tlsdesc_*", THUNK},
    {"*.cold", "it is a part of a function, which jumps to it"},
    {"*.cold.*", "it is a part of a function, which jumps to it"},
};

#define TWICE "it returns more than once, or to another place"

static const struct named timeless_names[] = {
    {"setjmp", TWICE},         {"_setjmp", TWICE},        {"__sigsetjmp*", TWICE},
    {"sigsetjmp", TWICE},      {"__setjmp*", TWICE},      {"vfork", TWICE},
    {"__vfork", TWICE},        {"__libc_vfork", TWICE},   {"getcontext", TWICE},
    {"__getcontext", TWICE},   {"swapcontext", TWICE},    {"__swapcontext", TWICE},
    {"clone", TWICE},          {"__clone*", TWICE},       {"clone3", TWICE},
    {"*jump_fcontext", TWICE}, {"ontop_fcontext", TWICE}, {"_Unwind_*", TWICE},
};

static const char *find_named(const struct named *list, size_t nr, const char *name)
{
	const struct named *found = ARRAY_FIND(n, list, nr, fnmatch(n->glob, name, 0) == 0);

	return found ? found->why : NULL;
}

/* --- a table of symbols */

struct raw {
	uint64_t value, size;
	uint32_t name;
	uint16_t section;
	uint8_t type, bind;
};

static uint64_t word(const uint8_t *p, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static struct raw decode(const uint8_t *p, bool is_64)
{
	uint8_t info = is_64 ? p[4] : p[12];

	return (struct raw){.value = is_64 ? word(p + 8, 8) : word(p + 4, 4),
			    .size = is_64 ? word(p + 16, 8) : word(p + 8, 4),
			    .name = (uint32_t)word(p, 4),
			    .section = (uint16_t)word(is_64 ? p + 6 : p + 14, 2),
			    .type = ELF64_ST_TYPE(info),
			    .bind = ELF64_ST_BIND(info)};
}

/* Names with control characters are of no compiler. */
static const char *find_name(const struct elf_section *text, uint32_t at)
{
	const char *name = at < text->size ? (const char *)text->data + at : NULL;
	size_t len = name ? strnlen(name, text->size - at) : 0;

	if (!len || len == text->size - at || len >= MAX_NAME_BYTES)
		return NULL;
	for (size_t i = 0; i < len; i++)
		if ((uint8_t)name[i] <= ' ' || name[i] == 0x7f)
			return NULL;
	return name;
}

/* Global, weak, local; among these, names for others to use. */
static uint8_t rank(const struct raw *r, const char *name)
{
	unsigned bind = r->bind == STB_LOCAL ? 2 : r->bind == STB_WEAK ? 1 : 0;
	size_t lines = strspn(name, "_");

	return (uint8_t)(bind << 4 | (lines < 15 ? lines : 15));
}

static int add(struct functions_list *l, const struct elf_file *f, const struct elf_section *text,
	       const struct raw *r)
{
	struct elf_section section;
	const char *name;
	struct functions_symbol *s;
	bool is_cold;

	if ((r->type != STT_FUNC && r->type != STT_GNU_IFUNC) || r->section == SHN_UNDEF ||
	    !elf_file_section(f, r->section, &section) || !(section.flags & SHF_EXECINSTR) ||
	    r->value < section.address || r->value - section.address >= section.size)
		return 0;
	name = find_name(text, r->name);
	if (!name)
		return 0;
	is_cold = str_stem(name, ".cold");
	s = is_cold ? MEM_ADD(l->cold, l->nr_cold, l->cold_room) : NULL;
	if (is_cold && !s)
		return -ENOMEM;
	if (s)
		*s = (struct functions_symbol){r->value, r->size, name, 0, false};
	s = MEM_ADD(l->symbol, l->nr, l->room);
	if (!s)
		return -ENOMEM;
	*s = (struct functions_symbol){.address = r->value,
				       .size = r->size,
				       .name = name,
				       .rank = rank(r, name),
				       .is_chooser = r->type == STT_GNU_IFUNC};
	if (s->size > section.size - (r->value - section.address))
		s->size = section.size - (r->value - section.address);
	return 0;
}

/* *has: it is there. 0 or -ENOMEM. */
static int add_table(struct functions_list *l, const struct elf_file *f, uint32_t type, bool *has)
{
	const bool is_64 = elf_file_is_64(f);
	const size_t bytes = is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct elf_section table, text;
	size_t nr;
	int rc = 0;

	*has = functions_find_table(f, type, &table, &text);
	nr = *has ? table.size / bytes : 0;
	if (nr > MAX_SYMBOLS)
		nr = MAX_SYMBOLS;
	if (!elf_file_pay(l->code, nr * sizeof(struct functions_symbol)))
		return 0;
	for (size_t i = 1; i < nr && rc == 0; i++) {
		struct raw r = decode(table.data + i * bytes, is_64);

		rc = add(l, f, &text, &r);
	}
	return rc;
}

/* --- the tables of a file, and of those that belong to it */

/* The small file that is packed in .gnu_debugdata; NULL: none. */
static int unpack(struct functions_list *l)
{
	uint64_t left = elf_file_bytes_left(l->code);
	size_t max = left < MAX_UNPACKED_BYTES ? (size_t)left : MAX_UNPACKED_BYTES, len;
	struct elf_section packed;
	uint8_t *data;
	int rc;

	if (!elf_file_load_section(l->code, ".gnu_debugdata", &packed))
		return 0;
	rc = elf_unpack_xz(packed.data, packed.size, max, &data, &len);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	rc = elf_file_pay(l->code, len)
		 ? elf_file_open_mem(data, len, true, ".gnu_debugdata", &l->unpacked, NULL)
		 : -EFBIG;
	if (rc)
		mem_free(data);
	return rc == -ENOMEM ? rc : 0;
}

/* A program of Go has the names that its runtime needs, though it is stripped. */
static int add_go(struct functions_list *l, bool *has)
{
	struct elf_pclntab_function fn;
	struct elf_section text = {.size = 0};
	struct elf_pclntab t;

	if (!elf_pclntab_open(l->code, &t) ||
	    !elf_file_pay(l->code, t.nr * sizeof(struct functions_symbol)))
		return 0;
	text.data = t.names.data;
	text.size = t.names.len;
	for (size_t i = 0; i < t.nr; i++) {
		const char *name =
		    elf_pclntab_function(&t, i, &fn) ? find_name(&text, fn.name) : NULL;
		struct functions_symbol *s = name ? MEM_ADD(l->symbol, l->nr, l->room) : NULL;

		if (name && !s)
			return -ENOMEM;
		if (s)
			*s = (struct functions_symbol){
			    .address = fn.start, .size = fn.end - fn.start, .name = name};
	}
	*has = true;
	return 0;
}

static const struct elf_file *find_debug(struct functions_list *l, struct elf_reader *reader)
{
	const struct elf_finder_config config = {.reader = reader};
	const struct elf_wanted wanted = {.path = l->path, .build_id = *elf_file_build_id(l->code)};

	if (!reader || !wanted.build_id.len || elf_finder_new(&config, &l->finder))
		return NULL;
	return elf_finder_debug(l->finder, &wanted);
}

static int add_all(struct functions_list *l, struct elf_reader *reader)
{
	const struct elf_file *debug;
	bool has = false;
	int rc = add_table(l, l->code, SHT_SYMTAB, &has);

	debug = rc || has ? NULL : find_debug(l, reader);
	l->debug = debug;
	if (debug && debug != l->code)
		rc = add_table(l, debug, SHT_SYMTAB, &has);
	if (rc == 0 && !has)
		rc = unpack(l);
	if (rc == 0 && l->unpacked)
		rc = add_table(l, l->unpacked, SHT_SYMTAB, &has);
	if (rc == 0 && !has)
		rc = add_go(l, &has);
	l->names = has ? FUNCTIONS_ALL : FUNCTIONS_NO_NAMES;
	/* what is packed, or was left by strip --keep-symbol, has no names that are exported */
	if (rc == 0)
		rc = add_table(l, l->code, SHT_DYNSYM, &has);
	if (l->names == FUNCTIONS_NO_NAMES && has)
		l->names = FUNCTIONS_EXPORTED;
	return rc;
}

static int by_address(const void *a, const void *b)
{
	const struct functions_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->rank != y->rank ? x->rank - y->rank : strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
	const struct functions_symbol *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Written in assembly, some have no size: they end where the next one begins. */
static void close_open(struct functions_list *l)
{
	for (size_t i = l->nr; i--;) {
		struct functions_symbol *s = &l->symbol[i], *n = s + 1;

		if (s->size || i + 1 == l->nr)
			continue;
		s->size = n->address == s->address ? n->size : n->address - s->address;
	}
}

int functions_list_load(const struct elf_file *code, const char *path, struct elf_reader *reader,
			struct functions_list *out)
{
	struct functions_list l = {.code = code, .path = path, .is_go = functions_is_go(code)};
	int rc = add_all(&l, reader) ?: functions_compiled_load(code, &l.compiled);

	if (rc) {
		functions_list_fini(&l);
		return rc;
	}
	if (l.nr)
		qsort(l.symbol, l.nr, sizeof(*l.symbol), by_address);
	if (l.nr_cold)
		qsort(l.cold, l.nr_cold, sizeof(*l.cold), by_name);
	close_open(&l);
	*out = l;
	return 0;
}

void functions_list_fini(struct functions_list *l)
{
	mem_free(l->symbol);
	mem_free(l->cold);
	functions_inward_fini(&l->inward);
	functions_compiled_fini(&l->compiled);
	elf_file_close(l->unpacked);
	elf_finder_free(l->finder);
	*l = (struct functions_list){.nr = 0};
}

/* --- one function */

static bool find_offset(const struct elf_file *f, uint64_t address, uint64_t *offset)
{
	struct elf_segment s;

	for (size_t i = 0; i < elf_file_nr_segments(f); i++) {
		elf_file_segment(f, i, &s);
		if (!s.is_code || address < s.address || address - s.address >= s.file_bytes)
			continue;
		*offset = s.offset + (address - s.address);
		return true;
	}
	return false;
}

/* Whether a part of the function is elsewhere. */
static bool has_cold(const struct functions_list *l, const char *name)
{
	char text[MAX_NAME_BYTES + 8];
	const struct functions_symbol key = {.name = text};

	if (!l->nr_cold)
		return false;
	snprintf(text, sizeof(text), "%s.cold", name);
	return bsearch(&key, l->cold, l->nr_cold, sizeof(key), by_name);
}

static void choose_entry(const struct functions_list *l, const struct functions_symbol *s,
			 struct functions_place *p)
{
	const struct functions_body body = {.main = {s->address, s->size},
					    .inward = &l->inward,
					    .has_cold = has_cold(l, s->name),
					    .is_go = l->is_go};
	struct functions_entry_facts facts;

	functions_entry_choose(l->code, &body, &facts);
	p->entry = facts.entry;
	p->calls_nothing = facts.calls_nothing;
	p->refused = p->refused ?: facts.refused;
	if (!find_offset(l->code, facts.address, &p->offset) && !p->refused)
		p->refused = "its address is not in the file";
}

static struct functions_place make_place(const struct functions_list *l,
					 const struct functions_symbol *s)
{
	struct functions_place p = {.path = l->path,
				    .name = s->name,
				    .address = s->address,
				    .size = s->size,
				    .ret = FUNCTIONS_RETURN_REPLACED};
	enum functions_start start;

	p.refused = find_named(refused_files, ARRAY_NR(refused_files), str_base_name(l->path))
			?: find_named(refused_names, ARRAY_NR(refused_names), s->name);
	if (!p.refused && s->is_chooser)
		p.refused = "it is called once, to choose the function that is called (IFUNC)";
	start = functions_starts_find(&l->starts, l->code, s->address);
	if (!p.refused && start == FUNCTIONS_START_NONE)
		p.refused = "its symbol is not where an instruction begins";
	choose_entry(l, s, &p);
	p.prepared = functions_compiled_of(&l->compiled, l->code, s->address, s->size);
	p.reason = find_named(timeless_names, ARRAY_NR(timeless_names), s->name);
	if (start == FUNCTIONS_START_WITHIN)
		p.reason = "it is a place in another function, where the return address may not be "
			   "on top of the stack";
	if (p.reason)
		p.ret = FUNCTIONS_RETURN_NONE;
	return p;
}

static int read_inward(struct functions_list *l)
{
	int rc;

	if (l->has_inward)
		return 0;
	rc = functions_inward_load(l->code, l->symbol, l->nr, &l->inward);
	l->has_inward = rc == 0;
	functions_starts_load(l->code, &l->starts);
	return rc;
}

int functions_list_each(struct functions_list *l, const struct functions_pattern *pattern,
			int (*fn)(const struct functions_place *place, void *arg), void *arg)
{
	int rc = 0;

	for (size_t i = 0, next; i < l->nr && rc == 0; i = next) {
		const struct functions_symbol *named = NULL;
		struct functions_place p;

		for (next = i; next < l->nr && l->symbol[next].address == l->symbol[i].address;
		     next++)
			if (!named && functions_pattern_has_name(pattern, l->symbol[next].name))
				named = &l->symbol[next];
		if (!named)
			continue;
		rc = read_inward(l);
		if (rc)
			break;
		p = make_place(l, named);
		rc = fn(&p, arg);
	}
	return rc;
}

static bool is_meant(const char *name, void *arg)
{
	return functions_pattern_has_name(arg, name);
}

size_t functions_list_inlined(const struct functions_list *l, const struct functions_pattern *p)
{
	struct functions_pattern copy = *p;

	return elf_inlined_count(l->debug ?: l->code, is_meant, &copy);
}
