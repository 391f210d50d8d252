/*
 * Symbol tables to entries of ours. Nothing is copied but numbers: names stay where they are until
 * somebody asks for one.
 */
#include "symbol/elf_symbols.h"

#include "base/clock.h"
#include "base/mem.h"
#include "elf/file.h"
#include "elf/unpack.h"
#include "symbol/word.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_UNPACKED_BYTES = 256 << 20,
	MAX_COMPARED = 512, /* of two names for the same address */
};

/* Where code may be: for each section its end, 0 for those without code. */
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

/* FUNC before labels, global before weak before local. */
static uint8_t rank(const struct symbol *s)
{
	unsigned bind = ELF64_ST_BIND(s->info);

	return (uint8_t)((ELF64_ST_TYPE(s->info) == STT_FUNC ? 0 : 4) + (bind == STB_LOCAL  ? 2
									 : bind == STB_WEAK ? 1
											    : 0));
}

/* "$x", "$d.12" and the like say what the bytes are from there on. */
static bool is_mapping_symbol(uint16_t machine, const char *name, size_t left)
{
	return (machine == EM_AARCH64 || machine == EM_ARM) && left > 2 && name[0] == '$' &&
	       strchr("xdat", name[1]) && (name[2] == '\0' || name[2] == '.');
}

static bool is_named(const struct elf_file *f, const struct elf_symbols_text *t, uint32_t name)
{
	return name < t->len && t->text[name] != '\0' &&
	       !is_mapping_symbol(elf_file_machine(f), t->text + name, t->len - name);
}

/* Its name is that of what it chooses, not of the code there, which may have one of its own. */
static int add_chooser(struct symbols_elf *s, const struct symbol_entry *e)
{
	struct symbol_entry named = *e;
	int rc = symbol_table_add(&s->table, e);

	named.is_nameless = false;
	return rc ? rc : symbol_table_add(&s->choosers, &named);
}

static int add(struct symbols_elf *s, const struct elf_file *f, const struct code_sections *code,
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
	return e.is_nameless ? add_chooser(s, &e) : symbol_table_add(&s->table, &e);
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

static bool pay_symbols(const struct elf_file *payer, uint64_t nr)
{
	return elf_file_pay(payer, (nr < SYMBOL_MAX_ENTRIES ? nr : SYMBOL_MAX_ENTRIES) *
				       SYMBOL_ENTRY_COST);
}

/* How many symbols it has, whatever becomes of them; or -ENOMEM. */
static ssize_t add_table(struct symbols_elf *s, const struct elf_file *f,
			 const struct elf_file *payer, uint32_t type)
{
	bool is_64 = elf_file_is_64(f);
	size_t entry_bytes = is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), nr;
	struct elf_section table, text;
	struct code_sections code;
	int rc;

	if (s->nr_texts == ELF_SYMBOLS_MAX_TEXTS || !find_table(f, type, &table, &text) ||
	    !pay_symbols(payer, table.size / entry_bytes))
		return 0;
	rc = find_code_sections(f, &code);
	if (rc)
		return rc;
	s->text[s->nr_texts++] =
	    (struct elf_symbols_text){(const char *)text.data, (size_t)text.size};
	nr = table.size / entry_bytes;
	for (size_t i = 1; i < nr && rc == 0; i++) {
		struct symbol sym;

		decode(table.data + i * entry_bytes, is_64, &sym);
		rc = add(s, f, &code, &sym);
	}
	mem_free(code.end);
	return rc ? rc : (ssize_t)nr;
}

static size_t max_unpacked(const struct elf_file *code)
{
	uint64_t left = elf_file_bytes_left(code);

	return left < MAX_UNPACKED_BYTES ? (size_t)left : MAX_UNPACKED_BYTES;
}

static int add_unpacked(struct symbols_elf *s, const struct elf_file *code)
{
	struct elf_section packed;
	uint8_t *data;
	size_t len;
	ssize_t n;
	int rc;

	if (!elf_file_load_section(code, ".gnu_debugdata", &packed))
		return 0;
	rc = elf_unpack_xz(packed.data, packed.size, max_unpacked(code), &data, &len);
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
		s->part = ELF_SYMBOLS_ALL;
	return n < 0 ? (int)n : 0;
}

/* .symtab has all that .dynsym has. */
static int add_all(struct symbols_elf *s, const struct elf_file *code, const struct elf_file *debug)
{
	ssize_t n = code ? add_table(s, code, code, SHT_SYMTAB) : 0;

	if (n == 0 && debug && debug != code)
		n = add_table(s, debug, debug, SHT_SYMTAB);
	if (n < 0)
		return (int)n;
	if (n > 0)
		s->part = ELF_SYMBOLS_ALL;
	if (!code)
		return 0;
	if (n == 0) {
		int rc = add_unpacked(s, code);

		n = rc ? rc : add_table(s, code, code, SHT_DYNSYM);
	}
	return n < 0 ? (int)n : 0;
}

static int add_stubs(struct symbols_elf *s, const struct elf_file *code)
{
	struct elf_section table, text;

	if (s->nr_texts == ELF_SYMBOLS_MAX_TEXTS)
		return 0;
	if (find_table(code, SHT_DYNSYM, &table, &text))
		s->text[s->nr_texts] =
		    (struct elf_symbols_text){(const char *)text.data, (size_t)text.size};
	return symbols_plt_add(code, &s->table, (uint8_t)s->nr_texts++);
}

static const char *peek(const struct symbols_elf *s, const struct symbol_entry *e, size_t *left)
{
	const struct elf_symbols_text *t = &s->text[e->source];

	*left = e->name < t->len ? t->len - e->name : 0;
	return *left ? t->text + e->name : "";
}

static size_t underscores(const char *name, size_t left)
{
	size_t n = 0;

	while (n < left && n < MAX_COMPARED && name[n] == '_')
		n++;
	return n;
}

/* glibc calls itself by "__GI_" before the name. */
static bool is_internal(const char *name, size_t left)
{
	static const char mark[] = "__GI_";

	return left >= sizeof(mark) && memcmp(name, mark, sizeof(mark) - 1) == 0;
}

/* Of aliases: one that is not internal, with fewer underscores before it, then by the alphabet. */
static int prefer(const void *arg, const struct symbol_entry *a, const struct symbol_entry *b)
{
	size_t left_a, left_b;
	const char *name_a = peek(arg, a, &left_a), *name_b = peek(arg, b, &left_b);
	size_t bars_a = underscores(name_a, left_a), bars_b = underscores(name_b, left_b);
	size_t n = left_a < left_b ? left_a : left_b;

	if (is_internal(name_a, left_a) != is_internal(name_b, left_b))
		return is_internal(name_b, left_b) ? -1 : 1;
	if (bars_a != bars_b)
		return bars_a < bars_b ? -1 : 1;
	return strncmp(name_a, name_b, n < MAX_COMPARED ? n : MAX_COMPARED);
}

/* What has neither is nobody's. */
static void spend(const struct elf_file *code, const struct elf_file *debug, uint64_t start_ns)
{
	const struct elf_file *f = code ? code : debug;

	if (f)
		elf_file_spend(f, clock_thread_cpu_ns() - start_ns);
}

int symbols_elf_load(const struct elf_file *code, const struct elf_file *debug,
		     struct symbols_elf *out)
{
	struct symbols_elf s = {.nr_texts = 0};
	uint64_t start_ns = clock_thread_cpu_ns();
	int rc = add_all(&s, code, debug);

	if (rc == 0 && code)
		rc = add_stubs(&s, code);
	if (s.part == ELF_SYMBOLS_NO_NAMES && s.table.nr)
		s.part = ELF_SYMBOLS_EXPORTED;
	if (rc == 0)
		rc = symbol_table_seal(&s.table, prefer, &s);
	if (rc == 0)
		rc = symbol_table_seal(&s.choosers, prefer, &s);
	spend(code, debug, start_ns);
	if (rc)
		symbols_elf_fini(&s);
	else
		*out = s;
	return rc;
}

void symbols_elf_fini(struct symbols_elf *s)
{
	symbol_table_fini(&s->table);
	symbol_table_fini(&s->choosers);
	elf_file_close(s->unpacked);
	*s = (struct symbols_elf){.nr_texts = 0};
}

void symbols_elf_name(const struct symbols_elf *s, const struct symbol_entry *e,
		      char out[ELF_SYMBOLS_MAX_NAME_BYTES])
{
	size_t left;
	const char *name;

	if (e->group == ELF_SYMBOLS_STUB_ABS) {
		uint32_t address = e->name;

		ptrdiff_t i = symbol_table_find(&s->choosers, address);

		if (i < 0) {
			snprintf(out, ELF_SYMBOLS_MAX_NAME_BYTES, "*ABS*+0x%" PRIx32, address);
			return;
		}
		e = &s->choosers.entry[i];
	}
	name = peek(s, e, &left);
	left = strnlen(name,
		       left < ELF_SYMBOLS_MAX_NAME_BYTES ? left : ELF_SYMBOLS_MAX_NAME_BYTES - 1);
	memcpy(out, name, left);
	out[left] = '\0';
}
