/*
 * The table of functions of Go: as each version has it, also damaged; a table that is not surely
 * right is none, and nothing outside of the file is touched.
 */
#include "test_elf_pclntab.h"
#include "kit.h"
#include "stride.h"

#include "elf/file.h"
#include "elf/parts.h"
#include "elf/pclntab.h"
#include "elf/reader.h"
#include "symbol/elf_symbols.h"

#include <sys/mman.h>
#include <unistd.h>

static const struct go_version *const go_1_24 = &go_versions[3];

static struct elf_file *open_file(const struct go_file *f)
{
	struct elf_file *file;

	return elf_file_open_mem(f->bytes, sizeof(f->bytes), false, "go", &file, NULL) ? NULL
										       : file;
}

/* Whether it has a table, and what that answers for an address of the second function. */
static size_t ask(const struct go_file *f, uint64_t offset,
		  struct elf_pclntab_line line[ELF_PCLNTAB_MAX_LINES])
{
	struct elf_file *file = open_file(f);
	struct elf_pclntab t;
	size_t nr = 0;

	assert_non_null(file);
	if (elf_pclntab_open(file, &t)) {
		elf_pclntab_find_calls(&t);
		nr = elf_pclntab_lines(&t, GO_BASE + GO_TEXT + go_functions[1].start + offset, true,
				       line);
	}
	elf_file_close(file);
	return nr;
}

static void expect_line(const struct elf_pclntab_line *l, const char *function, const char *file,
			uint32_t line)
{
	assert_true(!l->function == !function);
	if (function)
		assert_string_equal(l->function, function);
	assert_string_equal(l->file, file);
	assert_int_equal(l->line, line);
}

static void expect_functions(struct elf_pclntab *t)
{
	struct elf_pclntab_function fn;

	assert_int_equal(t->nr, NR(go_functions));
	for (size_t i = 0; i < t->nr; i++) {
		const struct go_function *want = &go_functions[i];

		assert_true(elf_pclntab_function(t, i, &fn));
		assert_int_equal(fn.start, GO_BASE + GO_TEXT + want->start);
		assert_int_equal(fn.end, fn.start + want->len);
		assert_true(fn.is_exact);
		assert_string_equal((const char *)t->names.data + fn.name, want->name);
	}
}

/* Each offset in the second function. */
static void expect_lines(const struct elf_pclntab *t, bool has_calls, bool with_inlined)
{
	const struct go_function *fn = &go_functions[1];

	for (uint32_t at = 0; at < fn->len; at++) {
		struct elf_pclntab_line l[ELF_PCLNTAB_MAX_LINES];
		const size_t nr =
		    elf_pclntab_lines(t, GO_BASE + GO_TEXT + fn->start + at, with_inlined, l);
		const char *file = at >= 0x10 && at < 0x20 ? "/src/b.go" : "/src/a.go";
		const uint32_t line = at < 8      ? 20
				      : at < 0x10 ? 21
				      : at < 0x14 ? 7
				      : at < 0x18 ? 8
				      : at < 0x20 ? 3
						  : 22;

		if (!has_calls || at < 0x10 || at >= 0x20) {
			assert_int_equal(nr, 1);
			expect_line(&l[0], NULL, file, line);
			continue;
		}
		assert_int_equal(nr, at < 0x18 ? 2 : 3);
		expect_line(&l[0], at < 0x18 ? "main.small" : "main.tiny", file, line);
		if (nr == 3)
			expect_line(&l[1], "main.small", "/src/b.go", 8);
		expect_line(&l[nr - 1], NULL, "/src/a.go", 21);
	}
}

TEST(versions)
{
	for (size_t i = 0; i < NR(go_versions); i++) {
		const struct go_version *v = &go_versions[i];
		struct elf_pclntab_line l[ELF_PCLNTAB_MAX_LINES];
		const uint64_t text = GO_BASE + GO_TEXT;
		struct elf_pclntab t;
		struct elf_file *file;
		struct go_file f;

		print_message("Go %s\n", v->name);
		go_make(&f, v);
		file = open_file(&f);
		assert_non_null(file);
		assert_true(elf_pclntab_is_there(file));
		assert_true(elf_pclntab_open(file, &t));
		expect_functions(&t);
		expect_lines(&t, false, true); /* not looked for yet */
		elf_pclntab_find_calls(&t);
		expect_lines(&t, v->calls_at, true);
		expect_lines(&t, false, false);
		assert_int_equal(elf_pclntab_lines(&t, text + 3, true, l), 1);
		expect_line(&l[0], NULL, "/src/a.go", 3);
		assert_int_equal(elf_pclntab_lines(&t, text + 0x4f, true, l), 1);
		expect_line(&l[0], NULL, "/src/b.go", 300);
		/* between two functions; around all */
		assert_int_equal(elf_pclntab_lines(&t, text + 0x0e, true, l), 1);
		assert_true(!l[0].file && !l[0].line && !l[0].function);
		assert_int_equal(elf_pclntab_lines(&t, text - 1, true, l), 0);
		assert_int_equal(elf_pclntab_lines(&t, text + GO_TEXT_BYTES, true, l), 0);
		elf_file_close(file);
	}
}

/* The same by way of symbols. */
TEST(symbols)
{
	for (size_t i = 0; i < NR(go_versions); i++) {
		char name[SYMBOL_ELF_MAX_NAME_BYTES];
		struct symbol_elf s;
		struct elf_file *file;
		struct go_file f;

		go_make(&f, &go_versions[i]);
		file = open_file(&f);
		assert_int_equal(symbol_elf_load(file, NULL, &s), 0);
		assert_int_equal(s.part, SYMBOL_ELF_ALL);
		assert_int_equal(s.table.nr, NR(go_functions));
		for (size_t k = 0; k < s.table.nr; k++) {
			symbol_elf_name(&s, &s.table.entry[k], name);
			assert_string_equal(name, go_functions[k].name);
			assert_int_equal(s.table.entry[k].size, go_functions[k].len);
		}
		symbol_elf_fini(&s);
		assert_int_equal(symbol_elf_load_data(file, NULL, &s), 0);
		assert_int_equal(s.table.nr, 0);
		symbol_elf_fini(&s);
		elf_file_close(file);
	}
}

/* What is stored of a program that is deleted has the names, and the lines. */
TEST(stored)
{
	for (size_t i = 0; i < NR(go_versions); i++) {
		const bool is_merged = strcmp(go_versions[i].section, ".data.rel.ro") == 0;
		int fd = memfd_create("go", MFD_CLOEXEC);
		uint8_t bytes[GO_BYTES], *to = bytes;
		struct elf_file_parts from = {.bytes = bytes, .file_bytes = GO_BYTES};
		struct elf_reader *reader;
		struct elf_pclntab t;
		struct elf_parts p;
		struct elf_file *file;
		struct go_file f;

		go_make(&f, &go_versions[i]);
		assert_true(fd >= 0 && write(fd, f.bytes, GO_BYTES) == GO_BYTES);
		assert_int_equal(elf_parts_find(fd, GO_BYTES, &p), 0);
		for (size_t k = 0; k < p.nr; to += p.part[k++].len)
			memcpy(to, f.bytes + p.part[k].offset, p.part[k].len);
		from.part = p.part;
		from.nr = p.nr;
		assert_int_equal(elf_reader_new(&(struct elf_reader_config){0}, &reader), 0);
		assert_int_equal(elf_file_open_parts(reader, &from, "go", &file, NULL), 0);
		assert_int_equal(elf_pclntab_open(file, &t), !is_merged);
		if (!is_merged) {
			expect_functions(&t);
			elf_pclntab_find_calls(&t);
			expect_lines(&t, false, true); /* these are in other sections */
		}
		elf_file_close(file);
		elf_reader_free(reader);
		close(fd);
	}
}

/* A change of the file, of Go 1.24: so many bytes at an offset. */
struct change {
	size_t at;
	uint64_t value;
	unsigned bytes;
};

/* Then there is no table. */
TEST(refused)
{
	struct go_file f;

	go_make(&f, go_1_24);
	{
		const size_t functions = f.functions, table = GO_TABLE;
		const struct change changes[] = {
		    {table, 0xf1ffffff, 4},              /* the other order of bytes */
		    {table, 0xfffffff2, 4},              /* a later version */
		    {table + 4, 1, 1},                   /* which is 0 */
		    {table + 6, 4, 1},                   /* arm64's */
		    {table + 7, 4, 1},                   /* 32 bits */
		    {table + 8, 0, 8},                   /* no function */
		    {table + 8, 1 << 20, 8},             /* more than there is room for */
		    {table + 8, UINT64_MAX / 8, 8},      /* and than can be counted */
		    {table + 24, 0, 8},                  /* no address, nor a section with it */
		    {table + 24, GO_BASE + 0x1008, 8},   /* outside of code */
		    {table + 32, 1, 8},                  /* names in the header */
		    {table + 32, GO_TABLE_BYTES + 1, 8}, /* outside */
		    {table + 40, GO_FILES_AT + 1, 8},    /* not in order */
		    {table + 64, UINT64_MAX, 8},
		    {functions + 8, 0x44, 4},  /* the second behind the third */
		    {functions + 24, 0x51, 4}, /* ends behind the code */
		    {functions + 24, 0x3f, 4},
		    {18, EM_PPC64, 2},
		    {18, EM_AARCH64, 2},
		};

		for (size_t i = 0; i < NR(changes); i++) {
			struct elf_pclntab_line l[ELF_PCLNTAB_MAX_LINES];
			struct go_file changed = f;

			assert_int_equal(ask(&changed, 0, l), 1);
			go_put(&changed, changes[i].at, changes[i].value, changes[i].bytes);
			if (ask(&changed, 0, l))
				fail_msg("change %zu is not noticed", i);
		}
	}
}

/* Where no function's record is what it should be, it has no name, and no line. */
TEST(records)
{
	struct elf_pclntab_line l[ELF_PCLNTAB_MAX_LINES];
	struct elf_pclntab_function fn;
	struct elf_pclntab t;
	struct elf_file *file;
	struct go_file f;
	const struct {
		unsigned at; /* in the record */
		uint32_t value;
		bool has_name;
	} cases[] = {
	    {0, 0x11, false},       /* of another function */
	    {4, 0xffff, false},     /* a name outside */
	    {4, 0, false},          /* an empty one */
	    {16, 0, true},          /* without a length */
	    {16, UINT32_MAX, true}, /* outside */
	};

	for (size_t i = 0; i < NR(cases); i++) {
		go_make(&f, go_1_24);
		go_put(&f, f.records[1] + cases[i].at, cases[i].value, 4);
		file = open_file(&f);
		assert_true(elf_pclntab_open(file, &t));
		assert_true(elf_pclntab_function(&t, 0, &fn) && fn.is_exact);
		assert_true(elf_pclntab_function(&t, 2, &fn) && fn.is_exact);
		assert_int_equal(elf_pclntab_function(&t, 1, &fn), cases[i].has_name);
		if (cases[i].has_name)
			assert_true(!fn.is_exact && fn.end == fn.start + 0x30);
		elf_file_close(file);
	}
	go_make(&f, go_1_24);
	go_put(&f, f.functions + 12, GO_TABLE_BYTES, 4); /* where the record is */
	assert_int_equal(ask(&f, 0, l), 0);
}

/* A call that is not as it should be: then none is shown, and the line is that of the address. */
TEST(calls)
{
	enum { SECOND = GO_CALLS + 16 };
	const struct change changes[] = {
	    {SECOND + 4, 0, 4},      /* no name */
	    {SECOND + 4, 2, 4},      /* within one */
	    {SECOND + 4, 0xffff, 4}, /* outside */
	    {SECOND + 8, 0x30, 4},   /* the call is outside of the function */
	    {SECOND + 8, UINT32_MAX, 4},
	    {SECOND + 8, 0x19, 4}, /* a call in itself */
	    {GO_MODULE, 1, 8},     /* not the description */
	    {GO_MODULE + 104, GO_BASE, 8},
	    {GO_MODULE + 136, 3, 8},
	    {GO_MODULE + 160, GO_BASE, 8},
	    {GO_MODULE + 176, GO_BASE, 8},
	    {GO_MODULE + 320, 0x10, 8}, /* in no section */
	};
	struct elf_pclntab_line l[ELF_PCLNTAB_MAX_LINES];
	struct go_file f;

	for (size_t i = 0; i < NR(changes); i++) {
		go_make(&f, go_1_24);
		assert_int_equal(ask(&f, 0x19, l), 3);
		go_put(&f, changes[i].at, changes[i].value, changes[i].bytes);
		if (ask(&f, 0x19, l) != 1)
			fail_msg("change %zu is not noticed", i);
		assert_int_equal(l[0].line, 3);
	}
	/* a record has no such table, or nothing behind it: what is there is another's */
	go_make(&f, go_1_24);
	go_put(&f, f.records[1] + 28, 2, 4);
	go_put(&f, f.records[1] + 44 + 4 * 5, 0, 4);
	assert_int_equal(ask(&f, 0x19, l), 1);
	go_make(&f, go_1_24);
	go_put(&f, f.records[1] + 43, 3, 1);
	assert_int_equal(ask(&f, 0x19, l), 1);
}

/* Of an address of the second function: what its frame is, and how long. */
static enum elf_pclntab_frame ask_frame(const struct go_file *f, uint64_t offset, uint32_t *bytes)
{
	struct elf_file *file = open_file(f);
	enum elf_pclntab_frame found = ELF_PCLNTAB_NO_FRAME;
	struct elf_pclntab t;

	if (elf_pclntab_open(file, &t))
		found = elf_pclntab_frame(&t, GO_BASE + GO_TEXT + go_functions[1].start + offset,
					  bytes);
	elf_file_close(file);
	return found;
}

TEST(frames)
{
	for (size_t i = 0; i < NR(go_versions); i++) {
		const struct go_version *v = &go_versions[i];
		const bool has_flags = v->word == 4;
		const enum elf_pclntab_frame usual =
		    has_flags ? ELF_PCLNTAB_FRAME : ELF_PCLNTAB_NO_FRAME;
		const size_t len = go_functions[1].len, flags = v->has_start_line ? 41 : 37;
		uint32_t bytes = 0;
		struct go_file f;

		go_make(&f, v);
		for (uint64_t at = 0; at < len; at++) {
			assert_int_equal(ask_frame(&f, at, &bytes), usual);
			assert_int_equal(bytes, has_flags ? 8 : 0);
		}
		/* between two functions; around all */
		assert_int_equal(ask_frame(&f, (uint64_t)-2, &bytes), ELF_PCLNTAB_NO_FRAME);
		assert_int_equal(ask_frame(&f, (uint64_t)-0x11, &bytes), ELF_PCLNTAB_NO_FRAME);
		assert_int_equal(ask_frame(&f, 0x40, &bytes), ELF_PCLNTAB_NO_FRAME);
		if (!has_flags)
			continue;
		f.bytes[f.records[1] + flags] = 4; /* assembly */
		assert_int_equal(ask_frame(&f, 0, &bytes), ELF_PCLNTAB_FRAME);
		f.bytes[f.records[1] + flags] = 2; /* changes to another stack */
		assert_int_equal(ask_frame(&f, 0, &bytes), ELF_PCLNTAB_NO_FRAME);
		f.bytes[f.records[1] + flags] = 6; /* the one that has a frame on both */
		memcpy(f.bytes + f.names + 64, "runtime.cgocallback", 20);
		go_put(&f, f.records[1] + 4, 64, 4);
		assert_int_equal(ask_frame(&f, 0, &bytes), ELF_PCLNTAB_FRAME);
		go_put(&f, f.records[1] + 4, 1 + sizeof("main.one"), 4);
		f.bytes[f.records[1] + flags] = 5;
		assert_int_equal(ask_frame(&f, 0, &bytes), ELF_PCLNTAB_OUTERMOST);
		/* of a handler */
		memcpy(f.bytes + f.names + 1 + sizeof("main.one"), "runtime.sigtr", 13);
		assert_int_equal(ask_frame(&f, 0, &bytes), ELF_PCLNTAB_NO_FRAME);
		f.bytes[f.records[1] + flags] = 4; /* what a handler calls */
		assert_int_equal(ask_frame(&f, 0, &bytes), ELF_PCLNTAB_FRAME);
	}
}

static void look_at_all(const struct go_file *f)
{
	struct elf_file *file = open_file(f);
	struct elf_pclntab_line l[ELF_PCLNTAB_MAX_LINES];
	struct elf_pclntab_function fn;
	struct elf_pclntab t;
	size_t nr_chars = 0;

	if (!file)
		return;
	if (!elf_pclntab_open(file, &t)) {
		elf_file_close(file);
		return;
	}
	elf_pclntab_find_calls(&t);
	for (size_t i = 0; i < t.nr; i++)
		if (elf_pclntab_function(&t, i, &fn))
			assert_true(fn.start < fn.end && t.names.data[fn.name]);
	for (uint64_t at = 0; at < GO_TEXT_BYTES; at += 4) {
		const size_t nr = elf_pclntab_lines(&t, GO_BASE + GO_TEXT + at, true, l);
		uint32_t bytes;

		(void)elf_pclntab_frame(&t, GO_BASE + GO_TEXT + at, &bytes);
		assert_true(nr <= ELF_PCLNTAB_MAX_LINES);
		for (size_t i = 0; i < nr; i++) {
			assert_true(!l[i].function == (i + 1 == nr));
			nr_chars += l[i].function ? strlen(l[i].function) : 0;
			nr_chars += l[i].file ? strlen(l[i].file) : 0;
		}
	}
	assert_true(nr_chars < sizeof(f->bytes) * GO_TEXT_BYTES);
	elf_file_close(file);
}

/* One byte after the other is another one. */
TEST(damaged)
{
	static const uint8_t other[] = {0, 1, 0x7f, 0x80, 0xff};

	for (size_t v = 0; v < NR(go_versions); v++)
		STRIDE_EACH(i, GO_RELOCATIONS + 512 - GO_TABLE, 400) {
			struct go_file f;

			go_make(&f, &go_versions[v]);
			f.bytes[GO_TABLE + i] = other[i % NR(other)];
			look_at_all(&f);
		}
}

/* The section ends at each place. */
TEST(truncated)
{
	for (size_t len = 0; len < GO_TABLE_BYTES; len += 7) {
		struct go_file f;

		go_make(&f, go_1_24);
		go_put(&f, GO_SECTIONS + 2 * 64 + 32, len, 8);
		look_at_all(&f);
	}
}
