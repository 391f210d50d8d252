/*
 * A program of Go without symbols: the table for its runtime has the rules of its functions, on
 * x86-64.
 */
#include "test_elf_pclntab.h"
#include "test_unwind.h"

#include "elf/file.h"
#include "unwind/object.h"

enum {
	WORD = 8,
	FLAGS = 41,
	NAME = 4,
	VALUES = 16,
	RUNTIME_NAMES = 64,
	SP = 0x7000,
	TEXT = GO_BASE + GO_TEXT
};

/* At an offset in the second function. */
static bool find(const struct go_file *f, const struct cfi_machine *m, struct cfi_rules *out)
{
	struct unwind_object *o;
	struct elf_file *file;
	bool is_there;

	assert_int_equal(elf_file_open_mem(f->bytes, sizeof(f->bytes), false, "go", &file, NULL),
			 0);
	o = unwind_object_open(file);
	assert_non_null(o);
	is_there = unwind_object_rules(o, m, TEXT + go_functions[1].start + 4, out);
	unwind_object_close(o);
	elf_file_close(file);
	return is_there;
}

static void expect_frame(struct go_file *f, int64_t bytes)
{
	const struct cfi_machine *m = &cfi_machine_x86_64;
	struct cfi_rules r;
	struct cfi_row row;

	assert_true(find(f, m, &r));
	cfi_rules_row(&r, m, &row);
	assert_int_equal(row.kind, CFI_ROW_PLAIN);
	assert_int_equal(row.cfa_reg, m->sp);
	assert_int_equal(row.cfa_off, bytes + WORD);
	assert_int_equal(row.ra_off, -WORD);
	assert_int_equal(row.nr_saved, bytes ? 1 : 0);
	if (!bytes)
		return;
	assert_int_equal(row.saved_reg[0], m->fp);
	assert_int_equal(row.saved_off[0], -2 * WORD);
}

TEST(frames)
{
	const struct cfi_machine *m = &cfi_machine_x86_64;
	struct cfi_rules r;
	struct cfi_row row;
	struct go_file f;
	size_t values;

	go_make(&f, &go_versions[3]);
	expect_frame(&f, 8);
	values = f.values + (f.bytes[f.records[1] + 16] | (size_t)f.bytes[f.records[1] + 17] << 8);
	assert_int_equal(f.bytes[values], 2 * 9); /* from -1 to 8 */
	f.bytes[values] = 2 * 1;
	expect_frame(&f, 0);
	f.bytes[values] = 2 * 41;
	expect_frame(&f, 40);
	f.bytes[values] = 2 * 40; /* no address is there */
	assert_false(find(&f, m, &r));
	f.bytes[values] = 2 * 9;
	f.bytes[f.records[1] + FLAGS] = 1;
	assert_true(find(&f, m, &r));
	cfi_rules_row(&r, m, &row);
	assert_int_equal(row.kind, CFI_ROW_OUTERMOST);
}

TEST(others)
{
	struct cfi_rules r;
	struct go_file f;

	go_make(&f, &go_versions[4]); /* of arm64 */
	assert_false(find(&f, &cfi_machine_aarch64, &r));
	go_make(&f, &go_versions[3]);
	f.bytes[GO_TABLE + 4] = 1; /* damaged */
	assert_false(find(&f, &cfi_machine_x86_64, &r));
}

/* What else is asked of the functions. */
TEST(functions)
{
	struct unwind_object *o;
	struct elf_file *file;
	struct go_file f;
	uint64_t offset;

	go_make(&f, &go_versions[3]);
	assert_int_equal(elf_file_open_mem(f.bytes, sizeof(f.bytes), false, "go", &file, NULL), 0);
	o = unwind_object_open(file);
	assert_true(unwind_object_is_in(o, TEXT + 0x12, "main.(*T).Two", &offset));
	assert_int_equal(offset, 2);
	assert_false(unwind_object_is_in(o, TEXT + 0x12, "main.one", &offset));
	assert_false(unwind_object_is_in(o, TEXT + 0x50, "main.Map[...]", &offset));
	assert_true(unwind_object_begins(o, TEXT + 0x0f, TEXT + 0x10));
	assert_false(unwind_object_begins(o, TEXT + 0x10, TEXT + 0x3f));
	assert_false(unwind_object_begins(o, TEXT + 0x40, TEXT + 0x60));
	unwind_object_close(o);
	elf_file_close(file);
}

static struct test_unwind unwind;
static struct test_sample sample;

/* From the first function, with these words behind its caller's frame pointer. */
static void run(const struct go_file *f, uint64_t caller, uint64_t next)
{
	enum { X86_SP = 7, X86_PC = 8 };
	const uint64_t words[] = {0, caller, next, next};
	struct elf_file *file;

	assert_int_equal(elf_file_open_mem(f->bytes, sizeof(f->bytes), false, "go", &file, NULL),
			 0);
	unwind = (struct test_unwind){.vdso = file};
	test_map(&unwind.lookup, GO_BASE, GO_BASE + GO_BYTES, 0, PROT_READ | PROT_EXEC, "[vdso]");
	assert_int_equal(test_unwind_open(&unwind, "x86_64"), 0);
	memset(&sample, 0, sizeof(sample));
	sample.reg[X86_PC] = TEXT + 4;
	sample.reg[X86_SP] = SP;
	memcpy(sample.stack, words, sizeof(words));
	sample.stack_len = 256;
	test_sample_init(&sample, 0xff0fff);
	test_unwind_run(&unwind, &sample);
	test_unwind_close(&unwind);
	elf_file_close(file);
}

static void expect(size_t nr, uint64_t last, enum unwind_end end)
{
	if (unwind.nr != nr || unwind.chain[nr - 1] != last || unwind.end != end)
		fail_msg("%zu, %lx, %s", unwind.nr, (unsigned long)unwind.chain[unwind.nr - 1],
			 unwind_end_name(unwind.end));
}

static void set_name(struct go_file *f, size_t function, const char *name)
{
	memcpy(f->bytes + f->names + RUNTIME_NAMES, name, strlen(name) + 1);
	go_put(f, f->records[function] + NAME, RUNTIME_NAMES, 4);
}

/* Each function has a frame of a word, and the second one is the outermost. */
static void make_program(struct go_file *f)
{
	go_make(f, &go_versions[3]);
	f->bytes[f->records[1] + FLAGS] = 1;
}

/* The third function returns at once. */
TEST(resumed)
{
	struct go_file f;
	size_t values;

	make_program(&f);
	values = f.values +
		 (f.bytes[f.records[2] + VALUES] | (size_t)f.bytes[f.records[2] + VALUES + 1] << 8);
	f.bytes[values] = 2 * 1;
	f.bytes[GO_TEXT + 0x40] = 0xc3;
	set_name(&f, 2, "runtime.systemstack_switch");
	run(&f, TEXT + 0x40, TEXT + 0x15);
	expect(3, TEXT + 0x15, UNWIND_WHOLE);
	assert_true(unwind.exact[0] >> 1 & 1 && !(unwind.exact[0] >> 2 & 1));
	f.bytes[GO_TEXT + 0x40] = 0xcc;
	run(&f, TEXT + 0x40, TEXT + 0x15); /* it returns to the function before */
	expect(2, TEXT + 0x40, UNWIND_WHOLE);
	f.bytes[GO_TEXT + 0x40] = 0xc3;
	set_name(&f, 2, "runtime.systemstack_swatch");
	run(&f, TEXT + 0x40, TEXT + 0x15);
	expect(2, TEXT + 0x40, UNWIND_WHOLE);
}

TEST(calls_c)
{
	static const uint8_t call[] = {0x48, 0x89, 0xdf, 0x48, 0x89, 0xd9, 0xff, 0xd0};
	struct go_file f;

	make_program(&f);
	f.bytes[f.records[1] + FLAGS] = 4;
	memcpy(f.bytes + GO_TEXT + 0x18, call, sizeof(call));
	set_name(&f, 1, "runtime.asmcgocall");
	run(&f, TEXT + 0x20, TEXT + 4);
	expect(2, TEXT + 0x20, UNWIND_INVALID);
	set_name(&f, 1, "runtime.cgocall");
	run(&f, TEXT + 0x20, TEXT + 4);
	assert_true(unwind.nr > 2 && unwind.chain[2] == TEXT + 4);
	set_name(&f, 1, "runtime.asmcgocall");
	f.bytes[GO_TEXT + 0x1f] = 0xd1;
	run(&f, TEXT + 0x20, TEXT + 4);
	assert_true(unwind.nr > 2 && unwind.chain[2] == TEXT + 4);
}
