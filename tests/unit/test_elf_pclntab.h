/*
 * A small program of Go without symbols, as each version of its linker lays it out: three functions
 * in two files, and two calls that were inlined into each other. Written down from Go's sources
 * (cmd/link/internal/ld/pcln.go, runtime/symtab.go). Only for tests.
 */
#ifndef TEST_ELF_PCLNTAB_H
#define TEST_ELF_PCLNTAB_H

#include "kit.h"

#include "base/buf.h"

#include <elf.h>
#include <string.h>

enum {
	GO_BASE = 0x400000, /* address of the file's first byte */
	GO_TEXT = 0x1000,
	GO_TEXT_BYTES = 0x50,
	GO_TABLE = 0x2000,
	GO_TABLE_BYTES = 0x600,
	GO_CALLS = 0x2700,
	GO_MODULE = 0x2800,
	GO_MODULE_BYTES = 0x180,
	GO_RELOCATIONS = 0x2a00,
	GO_NAMES = 0x2c00,
	GO_SECTIONS = 0x2d00,
	GO_NR_SECTIONS = 8,
	GO_MERGED = 0x40, /* bytes before the table, if it is in a section with others */
	GO_BYTES = GO_SECTIONS + GO_NR_SECTIONS * 64,
};

struct go_version {
	const char *name;
	uint32_t magic;
	uint16_t machine;
	uint8_t quantum;
	uint8_t word;  /* bytes of an address in the table */
	bool has_unit; /* the header has offsets; records have a unit */
	bool has_start_line;
	bool is_calls_parent_first; /* layout of records of inlined calls */
	uint16_t calls_at;          /* in the description of the program; 0: it has none */
	const char *section, *module;
	bool has_no_text;  /* in the header */
	bool is_relocated; /* words are in relocations alone */
};

#define GO_PLAIN ".gopclntab", ".noptrdata"
static const struct go_version go_versions[] = {
    {"1.15", 0xfffffffb, EM_X86_64, 1, 8, false, false, false, 0, GO_PLAIN, true, false},
    {"1.17", 0xfffffffa, EM_X86_64, 1, 8, true, false, false, 0, GO_PLAIN, true, false},
    {"1.19", 0xfffffff0, EM_X86_64, 1, 4, true, false, true, 304, GO_PLAIN, false, false},
    {"1.24", 0xfffffff1, EM_X86_64, 1, 4, true, true, false, 320, GO_PLAIN, false, false},
    {"1.24 arm64", 0xfffffff1, EM_AARCH64, 4, 4, true, true, false, 320, GO_PLAIN, false, false},
    {"1.24 by another linker", 0xfffffff1, EM_X86_64, 1, 4, true, true, false, 320,
     ".data.rel.ro.gopclntab", ".noptrdata", false, true},
    {"1.24 among other data", 0xfffffff1, EM_X86_64, 1, 4, true, true, false, 320, ".data.rel.ro",
     ".noptrdata", false, true},
    {"1.26", 0xfffffff1, EM_X86_64, 1, 4, true, true, false, 320, ".gopclntab", ".go.module", true,
     false},
    {"1.27 by another linker", 0xfffffff1, EM_AARCH64, 4, 4, true, true, false, 344, ".gopclntab",
     ".go.module", true, true},
};

/* Until this offset in the function, the value is this. */
struct go_span {
	int32_t value;
	uint32_t until;
};

struct go_function {
	const char *name;
	uint32_t start, len;
	struct go_span file[4], line[8], call[5];
};

static const struct go_function go_functions[] = {
    {"main.one", 0, 0x0c, {{0, 0x0c}}, {{3, 0x04}, {4, 0x0c}}, {{0}}},
    {"main.(*T).Two",
     0x10,
     0x30,
     {{0, 0x10}, {1, 0x20}, {0, 0x30}},
     {{20, 8}, {21, 0x10}, {7, 0x14}, {8, 0x18}, {3, 0x20}, {22, 0x30}},
     {{-1, 0x10}, {0, 0x18}, {1, 0x20}, {-1, 0x30}}},
    {"main.Map[...]", 0x40, 0x10, {{1, 0x10}}, {{300, 0x10}}, {{0}}},
};

/* main.small is called at line 21 of main.(*T).Two, main.tiny at line 8 of main.small. */
static const struct {
	const char *name;
	uint32_t parent;
} go_calls[] = {{"main.small", 8}, {"main.tiny", 0x14}};

struct go_file {
	uint8_t bytes[GO_BYTES];
	/* where the test may change it: offsets in the file */
	size_t functions, records[NR(go_functions)], names, values;
	size_t nr_relocations;
};

static inline void go_put(struct go_file *f, size_t at, uint64_t v, unsigned bytes)
{
	assert_true(at + bytes <= GO_BYTES);
	for (unsigned i = 0; i < bytes; i++)
		f->bytes[at + i] = (uint8_t)(v >> 8 * i);
}

/* A word with an address of the program. */
static inline void go_put_address(struct go_file *f, const struct go_version *v, size_t at,
				  uint64_t address)
{
	const size_t to = GO_RELOCATIONS + 24 * f->nr_relocations;

	if (!v->is_relocated) {
		go_put(f, at, address, 8);
		return;
	}
	assert_true(to + 24 <= GO_NAMES);
	go_put(f, to, GO_BASE + at, 8);
	go_put(f, to + 8, v->machine == EM_X86_64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE, 8);
	go_put(f, to + 16, address, 8);
	f->nr_relocations++;
}

/* Where a text of these begins, which are each behind a NUL. */
static inline uint32_t go_find(const struct buf *texts, const char *text)
{
	const size_t len = strlen(text) + 1;

	for (size_t i = 1; i + len <= texts->len; i++)
		if (!texts->data[i - 1] && memcmp(texts->data + i, text, len) == 0)
			return (uint32_t)i;
	fail_msg("no %s", text);
	return 0;
}

static inline void go_varint(struct buf *b, uint32_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_addc(b, (char)(v | 0x80));
	buf_addc(b, (char)v);
}

/* Returns the offset of the table. */
static inline uint32_t go_values(struct buf *b, const struct go_version *v,
				 const struct go_span *spans, size_t nr, int32_t add)
{
	const uint32_t at = (uint32_t)b->len;
	int32_t last = -1;
	uint32_t from = 0;

	for (size_t i = 0; i < nr && spans[i].until; i++) {
		const int32_t value = spans[i].value + (spans[i].value < 0 ? 0 : add);
		const int32_t change = value - last;

		go_varint(b, (uint32_t)change << 1 ^ (uint32_t)(change >> 31));
		go_varint(b, (spans[i].until - from) / v->quantum);
		last = value;
		from = spans[i].until;
	}
	buf_addc(b, '\0');
	return at;
}

static inline void go_word(struct buf *b, const struct go_version *v, uint64_t value)
{
	if (v->word == 8)
		buf_le64(b, value);
	else
		buf_le32(b, (uint32_t)value);
}

struct go_parts {
	struct buf names, units, files, values, records, calls;
	size_t record_at[NR(go_functions)]; /* in .records */
};

/* base: what offsets of the parts begin with: they are of the parts, or up to Go 1.15 of the table.
 */
struct go_bases {
	uint32_t names, values, records;
};

static inline void go_record(struct go_parts *p, const struct go_version *v,
			     const struct go_bases *base, const struct go_function *fn)
{
	const struct go_span stack[] = {{0, fn->len}};
	const bool has_calls = v->calls_at && fn->call[0].until;
	const uint32_t values[] = {
	    go_values(&p->values, v, stack, 1, 8),
	    go_values(&p->values, v, fn->file, NR(fn->file), v->has_unit ? 0 : 1),
	    go_values(&p->values, v, fn->line, NR(fn->line), 0),
	    has_calls ? go_values(&p->values, v, fn->call, NR(fn->call), 0) : 0,
	};
	const uint64_t address = v->word == 8 ? GO_BASE + GO_TEXT + fn->start : fn->start;

	go_word(&p->records, v, address);
	buf_le32(&p->records, base->names + go_find(&p->names, fn->name));
	buf_fill(&p->records, '\0', 8); /* arguments; what deferred calls return to */
	for (size_t i = 0; i < 3; i++)
		buf_le32(&p->records, base->values + values[i]);
	buf_le32(&p->records, has_calls ? 3 : 0);
	if (v->has_unit)
		buf_le32(&p->records, 1);
	if (v->has_start_line)
		buf_le32(&p->records, 1);
	buf_le32(&p->records, has_calls ? 4 << 24 : 0);
	if (!has_calls)
		return;
	buf_fill(&p->records, '\0', 8);
	buf_le32(&p->records, values[3]);
	buf_fill(&p->records, '\xff', 12);
	buf_le32(&p->records, 0); /* offset of the calls */
}

static inline void go_call(struct go_parts *p, const struct go_version *v, size_t i)
{
	const uint32_t name = go_find(&p->names, go_calls[i].name);

	if (v->is_calls_parent_first) {
		buf_le32(&p->calls, i ? 0 : 0xffff);
		buf_fill(&p->calls, '\0', 8);
		buf_le32(&p->calls, name);
		buf_le32(&p->calls, go_calls[i].parent);
	} else {
		buf_le32(&p->calls, 0);
		buf_le32(&p->calls, name);
		buf_le32(&p->calls, go_calls[i].parent);
		buf_le32(&p->calls, 1);
	}
}

static inline void go_texts(struct go_parts *p, const struct go_version *v, uint32_t files_base)
{
	static const char files[] = "\0/src/a.go\0/src/b.go";

	buf_addc(&p->names, '\0');
	for (size_t i = 0; i < NR(go_functions); i++)
		buf_add(&p->names, go_functions[i].name, strlen(go_functions[i].name) + 1);
	for (size_t i = 0; i < NR(go_calls); i++)
		buf_add(&p->names, go_calls[i].name, strlen(go_calls[i].name) + 1);
	buf_add(&p->files, files, sizeof(files));
	buf_le32(&p->units, v->has_unit ? UINT32_MAX : 3);
	buf_le32(&p->units, files_base + go_find(&p->files, "/src/a.go"));
	buf_le32(&p->units, files_base + go_find(&p->files, "/src/b.go"));
}

/* What is behind the table of functions has these offsets. */
static inline void go_make_parts(struct go_parts *p, const struct go_version *v,
				 const struct go_bases *base)
{
	buf_addc(&p->values, '\0');
	for (size_t i = 0; i < NR(go_functions); i++) {
		p->record_at[i] = p->records.len;
		go_record(p, v, base, &go_functions[i]);
	}
	for (size_t i = 0; v->calls_at && i < NR(go_calls); i++)
		go_call(p, v, i);
}

static inline void go_put_part(struct go_file *f, size_t at, const struct buf *b)
{
	assert_true(at + b->len <= GO_TABLE + GO_TABLE_BYTES || at >= GO_CALLS);
	if (b->len)
		memcpy(f->bytes + at, b->data, b->len);
}

static inline void go_put_functions(struct go_file *f, const struct go_version *v,
				    const struct go_parts *p, uint64_t records)
{
	const uint64_t text = v->word == 8 ? GO_BASE + GO_TEXT : 0;
	const size_t nr = NR(go_functions);

	for (size_t i = 0; i < nr; i++) {
		go_put(f, f->functions + 2 * i * v->word, text + go_functions[i].start, v->word);
		go_put(f, f->functions + (2 * i + 1) * v->word, records + p->record_at[i], v->word);
	}
	go_put(f, f->functions + 2 * nr * v->word, text + GO_TEXT_BYTES, v->word);
}

/* Names, files, values and records one behind the other, as far as there is room for each. */
enum {
	GO_NAMES_AT = 0x80,
	GO_UNITS_AT = 0x100,
	GO_FILES_AT = 0x140,
	GO_VALUES_AT = 0x180,
	GO_RECORDS_AT = 0x280,
	GO_FIRST_RECORD = 0x40
};

static inline void go_put_header(struct go_file *f, const struct go_version *v)
{
	static const uint32_t parts[] = {GO_NAMES_AT, GO_UNITS_AT, GO_FILES_AT, GO_VALUES_AT,
					 GO_RECORDS_AT};
	const unsigned first = v->word == 8 ? 2 : 3;

	go_put(f, GO_TABLE, v->magic, 4);
	f->bytes[GO_TABLE + 6] = v->quantum;
	f->bytes[GO_TABLE + 7] = 8;
	go_put(f, GO_TABLE + 8, NR(go_functions), 8);
	if (!v->has_unit)
		return;
	go_put(f, GO_TABLE + 16, 2, 8);
	if (!v->has_no_text)
		go_put_address(f, v, GO_TABLE + 24, GO_BASE + GO_TEXT);
	for (unsigned i = 0; i < NR(parts); i++)
		go_put(f, GO_TABLE + 8 + 8 * (first + i), parts[i], 8);
}

static inline void go_put_table(struct go_file *f, const struct go_version *v)
{
	const struct go_bases none = {0},
			      table = {GO_NAMES_AT, GO_VALUES_AT, GO_RECORDS_AT + GO_FIRST_RECORD};
	struct go_parts p;
	struct buf *const bufs[] = {&p.names, &p.units, &p.files, &p.values, &p.records, &p.calls};

	for (size_t i = 0; i < NR(bufs); i++)
		buf_init(bufs[i], 4096);
	go_texts(&p, v, v->has_unit ? 0 : GO_FILES_AT);
	go_make_parts(&p, v, v->has_unit ? &none : &table);
	go_put_header(f, v);
	f->names = GO_TABLE + GO_NAMES_AT;
	f->values = GO_TABLE + GO_VALUES_AT;
	f->functions = GO_TABLE + (v->has_unit ? GO_RECORDS_AT : 16);
	go_put_part(f, f->names, &p.names);
	go_put_part(f, GO_TABLE + GO_FILES_AT, &p.files);
	go_put_part(f, f->values, &p.values);
	go_put_part(f, GO_TABLE + GO_RECORDS_AT + GO_FIRST_RECORD, &p.records);
	go_put_part(f, GO_CALLS, &p.calls);
	go_put_functions(f, v, &p, v->has_unit ? GO_FIRST_RECORD : table.records);
	if (!v->has_unit) /* behind the functions is where the files are */
		go_put(f, f->functions + (2 * NR(go_functions) + 1) * 8, GO_UNITS_AT, 4);
	go_put_part(f, GO_TABLE + GO_UNITS_AT, &p.units);
	for (size_t i = 0; i < NR(go_functions); i++)
		f->records[i] = GO_TABLE + GO_RECORDS_AT + GO_FIRST_RECORD + p.record_at[i];
	for (size_t i = 0; i < NR(bufs); i++)
		buf_fini(bufs[i]);
}

/* The description of the program. */
static inline void go_put_module(struct go_file *f, const struct go_version *v)
{
	static const uint32_t parts[] = {GO_NAMES_AT,  GO_UNITS_AT,   GO_FILES_AT,
					 GO_VALUES_AT, GO_RECORDS_AT, GO_RECORDS_AT};
	const uint64_t text = GO_BASE + GO_TEXT;

	if (!v->calls_at)
		return;
	go_put_address(f, v, GO_MODULE, GO_BASE + GO_TABLE);
	for (unsigned i = 0; i < NR(parts); i++)
		go_put_address(f, v, GO_MODULE + 8 + 24 * i, GO_BASE + GO_TABLE + parts[i]);
	go_put(f, GO_MODULE + 136, NR(go_functions) + 1, 8);
	go_put_address(f, v, GO_MODULE + 160, text);
	go_put_address(f, v, GO_MODULE + 168, text + GO_TEXT_BYTES);
	go_put_address(f, v, GO_MODULE + 176, text);
	/* what other versions have there: a number of sections; an offset, which may look like an
	 * address */
	go_put(f, GO_MODULE + (v->calls_at == 344 ? 320 : 344),
	       v->calls_at == 344 ? GO_BASE + 64 : 1, 8);
	go_put_address(f, v, GO_MODULE + v->calls_at, GO_BASE + GO_CALLS);
}

static inline void go_put_section(struct go_file *f, size_t i, const char *name, uint32_t type,
				  uint64_t flags, size_t at, size_t len)
{
	static const char *const unnamed = "";
	const size_t header = GO_SECTIONS + 64 * i;
	size_t to = GO_NAMES + 1;

	while (f->bytes[to])
		to += strlen((const char *)f->bytes + to) + 1;
	assert_true(to + strlen(name) + 2 <= GO_SECTIONS && name != unnamed);
	memcpy(f->bytes + to, name, strlen(name) + 1);
	go_put(f, header, to - GO_NAMES, 4);
	go_put(f, header + 4, type, 4);
	go_put(f, header + 8, flags, 8);
	go_put(f, header + 16, flags ? GO_BASE + at : 0, 8);
	go_put(f, header + 24, at, 8);
	go_put(f, header + 32, len, 8);
}

static inline void go_put_elf(struct go_file *f, const struct go_version *v)
{
	static const uint8_t ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
	const size_t before = strcmp(v->section, ".data.rel.ro") == 0 ? GO_MERGED : 0;

	memcpy(f->bytes, ident, sizeof(ident));
	go_put(f, 16, ET_DYN | (uint64_t)v->machine << 16 | (uint64_t)1 << 32, 8);
	go_put(f, 32, 64, 8);
	go_put(f, 40, GO_SECTIONS, 8);
	go_put(f, 52, 64 | 56 << 16 | (uint64_t)1 << 32, 8);
	go_put(f, 58, 64 | GO_NR_SECTIONS << 16 | (uint64_t)(GO_NR_SECTIONS - 1) << 32, 6);
	go_put(f, 64, PT_LOAD | (uint64_t)(PF_R | PF_X) << 32, 8);
	go_put(f, 64 + 16, GO_BASE, 8);
	go_put(f, 64 + 32, GO_BYTES, 8);
	go_put(f, 64 + 40, GO_BYTES, 8);
	go_put(f, 64 + 48, 4096, 8);
	go_put_section(f, 1, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, GO_TEXT,
		       GO_TEXT_BYTES);
	go_put_section(f, 2, v->section, SHT_PROGBITS, SHF_ALLOC, GO_TABLE - before,
		       before + GO_TABLE_BYTES);
	/* the begin of a header, with no table behind it */
	go_put(f, GO_TABLE - before, v->magic | (uint64_t)v->quantum << 48 | (uint64_t)8 << 56, 8);
	go_put_section(f, 3, ".rodata", SHT_PROGBITS, SHF_ALLOC, GO_CALLS, 0x40);
	go_put_section(f, 4, v->module, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, GO_MODULE,
		       GO_MODULE_BYTES);
	go_put_section(f, 5, ".rela.dyn", SHT_RELA, SHF_ALLOC, GO_RELOCATIONS,
		       24 * f->nr_relocations);
	go_put_section(f, 6, ".go.buildinfo", SHT_PROGBITS, SHF_ALLOC, GO_MODULE, 8);
	go_put_section(f, 7, ".shstrtab", SHT_STRTAB, 0, GO_NAMES, GO_SECTIONS - GO_NAMES);
}

static inline void go_make(struct go_file *f, const struct go_version *v)
{
	memset(f, 0, sizeof(*f));
	go_put_table(f, v);
	go_put_module(f, v);
	go_put_elf(f, v);
}

#endif
