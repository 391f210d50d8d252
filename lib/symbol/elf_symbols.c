/*
 * Converts symbol tables to entries. Names are not copied: they stay in the file until they are
 * needed.
 */
#include "symbol/elf_symbols.h"

#include "base/clock.h"
#include "base/mem.h"
#include "elf/file.h"
#include "elf/pclntab.h"
#include "elf/unpack.h"
#include "symbol/word.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_UNPACKED_BYTES = 256 << 20,
	MAX_COMPARED = 512, /* bytes of two names at the same address */
};

/* Ends of code sections, by section number; 0: no code. */
struct code_sections {
	uint64_t *end; /* owned */
	size_t nr;
};

static int find_code_sections(const struct elf_file *f, struct code_sections *out)
{
	size_t nr = elf_file_nr_sections(f);
	uint64_t *end = mem_calloc(nr, sizeof(*end));
	struct elf_section s;

	if (!end)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		if (elf_file_section(f, i, &s) && (s.flags & SHF_EXECINSTR) &&
		    s.size <= UINT64_MAX - s.address)
			end[i] = s.address + s.size;
	*out = (struct code_sections){end, nr};
	return 0;
}

struct symbol {
	uint64_t value, size;
	uint32_t name;
	uint16_t section;
	uint8_t info;
};

static void decode(const uint8_t *p, bool is_64, struct symbol *out)
{
	if (is_64)
		*out = (struct symbol){word_64(p + 8), word_64(p + 16), word_32(p), word_16(p + 6),
				       p[4]};
	else
		*out = (struct symbol){word_32(p + 4), word_32(p + 8), word_32(p), word_16(p + 14),
				       p[12]};
}

/* FUNC before NOTYPE; global before weak before local. */
static uint8_t rank(const struct symbol *s)
{
	unsigned bind = ELF64_ST_BIND(s->info);

	return (uint8_t)((ELF64_ST_TYPE(s->info) == STT_FUNC ? 0 : 4) + (bind == STB_LOCAL  ? 2
									 : bind == STB_WEAK ? 1
											    : 0));
}

/* Whether it names code: not a mapping symbol ("$x", "$d.12" …), which marks the kind of bytes. */
static bool is_named(const struct elf_file *f, const struct symbol_elf_text *t, uint32_t at)
{
	uint16_t machine = elf_file_machine(f);
	const char *name = t->text + at;

	if (at >= t->len || !*name)
		return false;
	return (machine != EM_AARCH64 && machine != EM_ARM) || t->len - at <= 2 || *name != '$' ||
	       !strchr("xdat", name[1]) || (name[2] && name[2] != '.');
}

static int add(struct symbol_elf *s, const struct elf_file *f, const struct code_sections *code,
	       const struct symbol *sym)
{
	unsigned type = ELF64_ST_TYPE(sym->info);
	struct symbol_entry e = {
	    .start = sym->value,
	    .name = sym->name,
	    .source = (uint8_t)(s->nr_texts - 1),
	    .rank = rank(sym),
	    .is_open = sym->size == 0,
	    .is_nameless = type == STT_GNU_IFUNC,
	};
	uint64_t size = sym->size;
	int rc;

	if (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC)
		return 0;
	if (sym->section >= code->nr || sym->value >= code->end[sym->section] ||
	    !is_named(f, &s->text[e.source], sym->name))
		return 0;
	if (elf_file_machine(f) == EM_ARM)
		e.start &= ~(uint64_t)1;
	if (e.is_open)
		size = code->end[sym->section] - e.start;
	e.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
	rc = symbol_table_add(&s->table, &e);
	if (rc || !e.is_nameless)
		return rc;
	/* An IFUNC has the name of the function that it selects; its own code may have another. */
	e.is_nameless = false;
	return symbol_table_add(&s->choosers, &e);
}

static int add_variable(struct symbol_elf *s, const struct symbol *sym)
{
	const struct symbol_entry e = {
	    .start = sym->value,
	    .size = sym->size < UINT32_MAX ? (uint32_t)sym->size : UINT32_MAX,
	    .name = sym->name,
	    .source = (uint8_t)(s->nr_texts - 1),
	    .rank = rank(sym),
	};
	const struct symbol_elf_text *t = &s->text[e.source];

	if (ELF64_ST_TYPE(sym->info) != STT_OBJECT || sym->section == SHN_UNDEF ||
	    e.name >= t->len || !t->text[e.name])
		return 0;
	return symbol_table_add(&s->table, &e);
}

static bool find_table(const struct elf_file *f, uint32_t type, struct elf_section *table,
		       struct elf_section *text)
{
	for (size_t i = 0; i < elf_file_nr_sections(f); i++)
		if (elf_file_section(f, i, table) && table->type == type && table->is_held)
			return elf_file_section(f, table->link, text) && elf_file_load(f, table) &&
			       elf_file_load(f, text);
	return false;
}

/* Returns the number of symbols in the table, used or not; or -ENOMEM. */
static ssize_t add_table(struct symbol_elf *s, const struct elf_file *f,
			 const struct elf_file *payer, uint32_t type)
{
	bool is_64 = elf_file_is_64(f);
	size_t entry_bytes = is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), nr;
	struct elf_section table, text;
	struct code_sections code;
	int rc;

	if (s->nr_texts == SYMBOL_ELF_MAX_TEXTS || !find_table(f, type, &table, &text))
		return 0;
	nr = table.size / entry_bytes;
	if (!elf_file_pay(payer, (uint64_t)(nr < SYMBOL_MAX_ENTRIES ? nr : SYMBOL_MAX_ENTRIES) *
				     SYMBOL_ENTRY_COST))
		return 0;
	rc = find_code_sections(f, &code);
	if (rc)
		return rc;
	s->text[s->nr_texts++] =
	    (struct symbol_elf_text){(const char *)text.data, (size_t)text.size};
	for (size_t i = 1; i < nr && rc == 0; i++) {
		struct symbol sym;

		decode(table.data + i * entry_bytes, is_64, &sym);
		rc = s->is_data ? add_variable(s, &sym) : add(s, f, &code, &sym);
	}
	mem_free(code.end);
	return rc ? rc : (ssize_t)nr;
}

static int add_unpacked(struct symbol_elf *s, const struct elf_file *code)
{
	uint64_t left = elf_file_bytes_left(code);
	size_t max = left < MAX_UNPACKED_BYTES ? (size_t)left : MAX_UNPACKED_BYTES;
	struct elf_section packed;
	uint8_t *data;
	size_t len;
	ssize_t n;
	int rc;

	if (s->is_data || !elf_file_load_section(code, ".gnu_debugdata", &packed))
		return 0; /* it has functions alone */
	rc = elf_unpack_xz(packed.data, packed.size, max, &data, &len);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	if (!elf_file_pay(code, len)) {
		mem_free(data);
		return 0;
	}
	rc = elf_file_open_mem(data, len, true, ".gnu_debugdata", &s->unpacked, NULL);
	if (rc) {
		mem_free(data);
		return rc == -ENOMEM ? rc : 0;
	}
	n = add_table(s, s->unpacked, code, SHT_SYMTAB);
	if (n > 0)
		s->part = SYMBOL_ELF_ALL;
	return n < 0 ? (int)n : 0;
}

/* A program of Go has the names that its runtime needs, though it is stripped. */
static int add_go(struct symbol_elf *s, const struct elf_file *code)
{
	enum { RANK = 2 }; /* of a local function */
	struct elf_pclntab_function fn;
	struct elf_pclntab t;
	int rc = 0;

	if (s->is_data || s->nr_texts == SYMBOL_ELF_MAX_TEXTS || !elf_pclntab_open(code, &t) ||
	    !elf_file_pay(code, (uint64_t)t.nr * SYMBOL_ENTRY_COST))
		return 0;
	s->text[s->nr_texts++] = (struct symbol_elf_text){(const char *)t.names.data, t.names.len};
	s->part = SYMBOL_ELF_ALL;
	for (size_t i = 0; i < t.nr && rc == 0; i++) {
		struct symbol_entry e = {.source = (uint8_t)(s->nr_texts - 1), .rank = RANK};

		if (!elf_pclntab_function(&t, i, &fn))
			continue;
		e.start = fn.start;
		e.size =
		    fn.end - fn.start < UINT32_MAX ? (uint32_t)(fn.end - fn.start) : UINT32_MAX;
		e.name = fn.name;
		e.is_open = !fn.is_exact;
		rc = symbol_table_add(&s->table, &e);
	}
	return rc;
}

/* .symtab contains all symbols of .dynsym. */
static int add_all(struct symbol_elf *s, const struct elf_file *code, const struct elf_file *debug)
{
	ssize_t n = code ? add_table(s, code, code, SHT_SYMTAB) : 0;

	if (n == 0 && debug && debug != code)
		n = add_table(s, debug, debug, SHT_SYMTAB);
	if (n < 0)
		return (int)n;
	if (n > 0)
		s->part = SYMBOL_ELF_ALL;
	if (!code)
		return 0;
	if (n == 0) {
		int rc = add_unpacked(s, code);

		if (rc == 0 && s->part == SYMBOL_ELF_NO_NAMES)
			rc = add_go(s, code);
		n = rc ? rc : add_table(s, code, code, SHT_DYNSYM);
	}
	return n < 0 ? (int)n : 0;
}

static int add_stubs(struct symbol_elf *s, const struct elf_file *code)
{
	struct elf_section table, text;

	if (s->nr_texts == SYMBOL_ELF_MAX_TEXTS)
		return 0;
	if (find_table(code, SHT_DYNSYM, &table, &text))
		s->text[s->nr_texts] =
		    (struct symbol_elf_text){(const char *)text.data, (size_t)text.size};
	s->slots_source = (uint8_t)s->nr_texts++;
	return symbol_plt_add(code, &s->table, &s->slots, s->slots_source);
}

static const char *peek(const struct symbol_elf *s, const struct symbol_entry *e, size_t *left)
{
	const struct symbol_elf_text *t = &s->text[e->source];

	*left = e->name < t->len ? t->len - e->name : 0;
	return *left ? t->text + e->name : "";
}

/* glibc calls its own functions by names with "__GI_". */
static bool is_internal(const char *name, size_t left)
{
	static const char mark[] = "__GI_";

	return left >= sizeof(mark) && memcmp(name, mark, sizeof(mark) - 1) == 0;
}

/* Among aliases: names for other files first. */
static int prefer(const void *arg, const struct symbol_entry *a, const struct symbol_entry *b)
{
	size_t left_a, left_b;
	const char *name_a = peek(arg, a, &left_a), *name_b = peek(arg, b, &left_b);

	if (is_internal(name_a, left_a) != is_internal(name_b, left_b))
		return is_internal(name_b, left_b) ? -1 : 1;
	left_a = strnlen(name_a, left_a < MAX_COMPARED ? left_a : MAX_COMPARED);
	left_b = strnlen(name_b, left_b < MAX_COMPARED ? left_b : MAX_COMPARED);
	return symbol_compare_names(name_a, left_a, name_b, left_b);
}

static int load(const struct elf_file *code, const struct elf_file *debug, bool is_data,
		struct symbol_elf *out)
{
	struct symbol_elf s = {.is_data = is_data};
	const struct elf_file *payer = code ? code : debug;
	uint64_t start_ns = clock_thread_cpu_ns();
	int rc = add_all(&s, code, debug);

	if (rc == 0 && code && !is_data)
		rc = add_stubs(&s, code);
	if (s.part == SYMBOL_ELF_NO_NAMES && s.table.nr)
		s.part = SYMBOL_ELF_EXPORTED;
	rc = rc
			   ?: symbol_table_seal(&s.table, prefer, &s)
			   ?: symbol_table_seal(&s.choosers, prefer, &s);
	if (payer)
		elf_file_spend(payer, clock_thread_cpu_ns() - start_ns);
	if (rc)
		symbol_elf_fini(&s);
	else
		*out = s;
	return rc;
}

int symbol_elf_load(const struct elf_file *code, const struct elf_file *debug,
		    struct symbol_elf *out)
{
	return load(code, debug, false, out);
}

int symbol_elf_load_data(const struct elf_file *code, const struct elf_file *debug,
			 struct symbol_elf *out)
{
	return load(code, debug, true, out);
}

void symbol_elf_fini(struct symbol_elf *s)
{
	symbol_table_fini(&s->table);
	symbol_table_fini(&s->choosers);
	symbol_slots_fini(&s->slots);
	elf_file_close(s->unpacked);
	*s = (struct symbol_elf){.nr_texts = 0};
}

void symbol_elf_name(const struct symbol_elf *s, const struct symbol_entry *e,
		     char out[SYMBOL_ELF_MAX_NAME_BYTES])
{
	size_t left;
	const char *name;

	if (e->group == SYMBOL_ELF_STUB_ABS) {
		uint32_t address = e->name;

		ptrdiff_t i = symbol_table_find(&s->choosers, address);

		if (i < 0) {
			snprintf(out, SYMBOL_ELF_MAX_NAME_BYTES, "*ABS*+0x%" PRIx32, address);
			return;
		}
		e = &s->choosers.entry[i];
	}
	name = peek(s, e, &left);
	left =
	    strnlen(name, left < SYMBOL_ELF_MAX_NAME_BYTES ? left : SYMBOL_ELF_MAX_NAME_BYTES - 1);
	memcpy(out, name, left);
	out[left] = '\0';
}

bool symbol_elf_slot_name(const struct symbol_elf *s, uint64_t address,
			  char out[SYMBOL_ELF_MAX_NAME_BYTES])
{
	const struct symbol_slot *slot = symbol_slots_find(&s->slots, address);

	if (!slot)
		return false;
	symbol_elf_name(
	    s,
	    &(struct symbol_entry){.name = slot->name,
				   .source = s->slots_source,
				   .group = slot->is_abs ? SYMBOL_ELF_STUB_ABS : SYMBOL_ELF_STUB},
	    out);
	return *out != '\0';
}

/* ---- data */

static bool find_data_section(const struct elf_file *f, uint64_t address, struct elf_section *out)
{
	for (size_t i = 0; i < elf_file_nr_sections(f); i++)
		if (elf_file_section(f, i, out) && out->flags & SHF_ALLOC &&
		    out->flags & SHF_WRITE && !(out->flags & SHF_TLS) && address >= out->address &&
		    address - out->address < out->size)
			return true;
	return false;
}

bool symbol_elf_data(const struct symbol_elf *variables, const struct elf_file *code,
		     uint64_t address, char name[SYMBOL_ELF_MAX_NAME_BYTES], uint64_t *start)
{
	const ptrdiff_t i = symbol_table_find(&variables->table, address);
	const uint64_t start_ns = clock_thread_cpu_ns();
	struct elf_section section;
	const bool is_there = elf_file_spend(code, 0) && find_data_section(code, address, &section);

	if (!elf_file_spend(code, clock_thread_cpu_ns() - start_ns) || !is_there)
		return false;
	*start = section.address;
	*name = '\0';
	if (i < 0)
		return true;
	*start = variables->table.entry[i].start;
	symbol_elf_name(variables, &variables->table.entry[i], name);
	return true;
}
