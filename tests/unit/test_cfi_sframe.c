/*
 * Simple unwind tables of each version, made by the assemblers and linkers of three releases: at
 * each instruction the caller is that of the exact tables. And wrong tables: no rule, no fault.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/io.h"
#include "cfi/section.h"
#include "cfi/sframe.h"
#include "paths.h"

#include "elf/file.h"

#include <elf.h>
#include <stdlib.h>

enum { STACK_BYTES = 80 << 10, WORD = 8, HEADER_BYTES = 28, TABLE_BYTES = 4096 };

static uint64_t stack[STACK_BYTES / WORD];
static struct cfi_frame frame;

struct kept {
	struct elf_file *file;
	const struct cfi_machine *machine;
	struct elf_section section;
	struct cfi_sframe sframe;
	struct cfi_section exact;
	uint64_t entry; /* of the program */
};

/* Addresses that both tables know; that only the exact ones do, as the version cannot say it (of a
 * table of stubs in 1, of a realigned stack before 3); and whose CFA is a word of memory. */
static const struct of_version {
	const char *name;
	const struct cfi_machine *machine;
	size_t nr_both, nr_exact, nr_loaded;
} files[] = {
    {"x86_64.1", &cfi_machine_x86_64, 1015, 131, 0},
    {"x86_64.2", &cfi_machine_x86_64, 1063, 83, 0},
    {"x86_64.3", &cfi_machine_x86_64, 1146, 0, 33},
    {"aarch64.1", &cfi_machine_aarch64, 1280, 0, 0},
    {"aarch64.2", &cfi_machine_aarch64, 1280, 0, 0},
    {"aarch64.3", &cfi_machine_aarch64, 1280, 0, 0},
};

static void open_kept(const struct of_version *of, struct kept *k)
{
	struct elf_section s;
	char path[512];
	struct buf b;

	*k = (struct kept){.machine = of->machine};
	snprintf(path, sizeof(path), "%s/tests/data/unwind/sframe-%s.so", SOURCE_DIR, of->name);
	buf_init(&b, SIZE_MAX / 2);
	assert_int_equal(io_load(AT_FDCWD, path, &b), 0);
	assert_int_equal(elf_file_open_mem(b.data, b.len, true, path, &k->file, NULL), 0);
	assert_true(elf_file_load_section(k->file, ".sframe", &k->section));
	assert_true(
	    cfi_sframe_init(&k->sframe, k->section.data, k->section.size, k->section.address));
	assert_true(k->section.size <= TABLE_BYTES);
	memcpy(&k->entry, b.data + offsetof(Elf64_Ehdr, e_entry), sizeof(k->entry));
	assert_true(elf_file_load_section(k->file, ".eh_frame", &s));
	k->exact = (struct cfi_section){
	    .data = s.data, .len = s.size, .address = s.address, .is_eh = true};
}

/* --- the same caller */

/* Registers all point into the stack, each elsewhere, and each word of it is another and points
 * into it, too. */
static struct cfi_frame make_frame(const struct cfi_machine *m, uint64_t pc)
{
	const uint64_t start = 0x7f0000000000, middle = start + STACK_BYTES / 4;
	struct cfi_frame f = {.machine = m,
			      .stack = {(uint8_t *)stack, start, sizeof(stack)},
			      .pc = pc,
			      .is_exact = true};

	for (size_t i = 0; i < NR(stack); i++)
		stack[i] = htole64(middle + (i / 2 + i % 7) * WORD);
	for (unsigned i = 0; i < m->nr_regs; i++)
		cfi_frame_set(&f, i, middle + (i + 1) * 32 * WORD);
	cfi_frame_set(&f, m->sp, start + 32 * WORD);
	if (m->lr == CFI_NO_REG)
		cfi_frame_set(&f, m->ra, pc);
	return f;
}

struct seen {
	size_t nr_both, nr_exact, nr_loaded;
};

static void compare_at(struct kept *k, const struct cfi_fde *fde, uint64_t address,
		       struct seen *seen)
{
	const struct cfi_base base = cfi_section_base(&k->exact);
	struct cfi_frame exact = make_frame(k->machine, address), simple = exact;
	struct cfi_rules rules, all;
	const unsigned sp = k->machine->sp, fp = k->machine->fp;

	assert_true(cfi_program_run(k->machine, fde, &base, address, &all));
	if (!cfi_sframe_rules(&k->sframe, k->machine, address, &rules)) {
		seen->nr_exact++;
		return;
	}
	seen->nr_both++;
	seen->nr_loaded += rules.cfa.kind == CFI_RULE_LOADED;
	assert_int_equal(cfi_rules_apply(&all, &exact), CFI_GOES_ON);
	assert_int_equal(cfi_rules_apply(&rules, &simple), CFI_GOES_ON);
	if (simple.pc != exact.pc || simple.reg[sp] != exact.reg[sp] ||
	    simple.reg[fp] != exact.reg[fp] || !(simple.known >> fp & 1))
		fail_msg(
		    "at %lx: the caller is at %lx, sp %lx, fp %lx, and not at %lx, sp %lx, fp %lx",
		    (unsigned long)address, (unsigned long)simple.pc, (unsigned long)simple.reg[sp],
		    (unsigned long)simple.reg[fp], (unsigned long)exact.pc,
		    (unsigned long)exact.reg[sp], (unsigned long)exact.reg[fp]);
	assert_int_equal(simple.known & ~exact.known, 0);
}

TEST(same_as_exact_tables)
{
	for (size_t i = 0; i < NR(files); i++) {
		struct seen seen = {0};
		struct kept k;
		struct cfi_fde fde;
		uint64_t next = 0;
		bool is_fde;

		open_kept(&files[i], &k);
		while (cfi_section_next(&k.exact, &next, &fde, &is_fde))
			for (uint64_t at = 0; is_fde && at < fde.len; at++)
				compare_at(&k, &fde, fde.start + at, &seen);
		assert_int_equal(seen.nr_both, files[i].nr_both);
		assert_int_equal(seen.nr_exact, files[i].nr_exact);
		assert_int_equal(seen.nr_loaded, files[i].nr_loaded);
		elf_file_close(k.file);
	}
}

/* --- wrong tables */

/* Looks everything up in a copy of the table, of exactly its bytes. */
static void look_up(const struct kept *k, const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct cfi_sframe s;
	struct cfi_rules rules;
	struct cfi_frame f;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	if (cfi_sframe_init(&s, copy, len, k->section.address))
		for (uint64_t at = 0; at < k->section.address; at += 13) {
			f = frame;
			f.pc = at;
			if (cfi_sframe_rules(&s, k->machine, at, &rules))
				(void)cfi_rules_apply(&rules, &f);
		}
	free(copy);
}

TEST(hostile)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	uint8_t bytes[TABLE_BYTES];
	struct kept k;

	for (size_t i = 0; i < NR(files); i++) {
		open_kept(&files[i], &k);
		frame = make_frame(k.machine, 0);
		memcpy(bytes, k.section.data, k.section.size);
		STRIDE_EACH(at, k.section.size, 8) {
			look_up(&k, bytes, at);
			for (size_t v = 0; v < NR(values); v++) {
				bytes[at] = values[v];
				look_up(&k, bytes, k.section.size);
			}
			bytes[at] = k.section.data[at];
		}
		elf_file_close(k.file);
	}
}

/* Of a header that does not fit, there is no table. */
TEST(headers)
{
	static const struct {
		const char *what;
		size_t at, len;
		uint8_t bytes[4];
	} cases[] = {
	    {"another magic", 0, 2, {0xe2, 0xdd}},
	    {"version 0", 2, 1, {0}},
	    {"version 4", 2, 1, {4}},
	    {"not sorted", 3, 1, {0}},
	    {"big-endian", 4, 1, {1}},
	    {"more functions than bytes", 8, 4, {100, 0, 0, 0}},
	    {"an index behind the end", 20, 4, {0xff, 0xff, 0xff, 0xff}},
	    {"rows behind the end", 24, 4, {0xff, 0xff, 0xff, 0xff}},
	};
	uint8_t bytes[TABLE_BYTES];
	struct cfi_sframe s;
	struct cfi_rules rules;
	struct kept k;

	open_kept(&files[2], &k);
	for (size_t i = 0; i < NR(cases); i++) {
		memcpy(bytes, k.section.data, k.section.size);
		memcpy(bytes + cases[i].at, cases[i].bytes, cases[i].len);
		if (cfi_sframe_init(&s, bytes, k.section.size, k.section.address))
			fail_msg("%s: it is taken", cases[i].what);
	}
	for (size_t len = 0; len < HEADER_BYTES; len++)
		assert_false(cfi_sframe_init(&s, k.section.data, len, 0));
	assert_false(cfi_sframe_rules(&k.sframe, &cfi_machine_aarch64, k.entry, &rules));
	assert_true(cfi_sframe_rules(&k.sframe, &cfi_machine_x86_64, k.entry, &rules));
	elf_file_close(k.file);
}

/* What nobody has called: an empty row. And the frame of a signal. Neither is in the files. */
TEST(ends)
{
	static const uint8_t table[] = {
	    0xe2, 0xde, 3,    5,    3,    0,    0xf8, 0, 1, 0,  0, 0, 2, 0,    0,
	    0,    10,   0,    0,    0,    0,    0,    0, 0, 16, 0, 0, 0, 0xe4, 0xff,
	    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 8,    0, 0, 0,  0, 0, 0, 0, /* the function */
	    2,    0,    0x80, 0,    0, /* two rows, of a signal */
	    0,    0,    4,    0x03, 8,
	};
	struct cfi_sframe s;
	struct cfi_rules rules;
	struct cfi_row row;

	frame = make_frame(&cfi_machine_x86_64, 0x1000);
	assert_true(cfi_sframe_init(&s, table, sizeof(table), 0x1000));
	assert_true(cfi_sframe_rules(&s, &cfi_machine_x86_64, 0x1003, &rules));
	cfi_rules_row(&rules, &cfi_machine_x86_64, &row);
	assert_int_equal(row.kind, CFI_ROW_OUTERMOST);
	assert_true(cfi_sframe_rules(&s, &cfi_machine_x86_64, 0x1004, &rules));
	assert_true(rules.is_signal);
	assert_int_equal(cfi_rules_apply(&rules, &frame), CFI_GOES_ON);
	assert_true(frame.is_exact);
	assert_false(cfi_sframe_rules(&s, &cfi_machine_x86_64, 0x1008, &rules));
	assert_false(cfi_sframe_rules(&s, &cfi_machine_x86_64, 0xfff, &rules));
}
