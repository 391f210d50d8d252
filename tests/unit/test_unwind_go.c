/*
 * A program of Go without symbols: the table for its runtime has the rules of its functions, on
 * x86-64.
 */
#include "test_elf_pclntab.h"

#include "elf/file.h"
#include "unwind/object.h"

enum { WORD = 8, FLAGS = 41 };

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
	is_there = unwind_object_rules(o, m, GO_BASE + GO_TEXT + go_functions[1].start + 4, out);
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
