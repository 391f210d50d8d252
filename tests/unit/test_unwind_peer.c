/*
 * The tables of this program and of the C library, address by address, as libdw reads them: our
 * rows must be the same.
 */
#include "kit.h"
#include "test_unwind.h"

#include "base/buf.h"
#include "base/io.h"

#include "unwind/machine.h"
#include "unwind/object.h"

#include "elf/file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <link.h>

/* The file, by both. */
struct both {
	Elf *elf;
	Dwarf_CFI *peer;
	struct elf_file *file;
	struct unwind_object *tables;
	const struct cfi_machine *machine;
	bool is_stub; /* what is checked */
	size_t nr_rows, nr_plain, nr_hard, nr_none, nr_outermost;
};

static bool is_offset(const Dwarf_Op *ops, size_t nr, int64_t *off)
{
	*off = nr == 2 ? (int64_t)ops[1].number : 0;
	return nr && ops[0].atom == DW_OP_call_frame_cfa &&
	       (nr == 1 || (nr == 2 && ops[1].atom == DW_OP_plus_uconst));
}

/* Where our row has a register; false: not on the stack. */
static bool saved_at(const struct cfi_row *row, unsigned reg, int64_t *off)
{
	for (unsigned i = 0; i < row->nr_saved; i++) {
		*off = row->saved_off[i];
		if (row->saved_reg[i] == reg)
			return true;
	}
	return false;
}

static void check_reg(const struct both *b, Dwarf_Frame *frame, const struct cfi_row *row,
		      unsigned reg, uint64_t address)
{
	int64_t theirs, ours = 0;
	Dwarf_Op mem[3], *ops;
	bool is_saved;
	size_t nr;

	assert_int_equal(dwarf_frame_register(frame, (int)reg, mem, &ops, &nr), 0);
	is_saved = is_offset(ops, nr, &theirs);
	if (reg == b->machine->ra && row->ra_reg == CFI_NO_REG)
		ours = row->ra_off;
	else if (saved_at(row, reg, &ours) != is_saved)
		fail_msg("%lx: register %u is %ssaved", (unsigned long)address, reg,
			 is_saved ? "" : "not ");
	if (is_saved && ours != theirs)
		fail_msg("%lx: register %u is at %ld, not %ld", (unsigned long)address, reg,
			 (long)theirs, (long)ours);
}

static void check_plain(const struct both *b, Dwarf_Frame *frame, const struct cfi_row *row,
			uint64_t address)
{
	Dwarf_Op *ops;
	size_t nr;

	assert_int_equal(dwarf_frame_cfa(frame, &ops, &nr), 0);
	if (nr != 1 || ops[0].atom != DW_OP_bregx || ops[0].number != row->cfa_reg ||
	    (int64_t)ops[0].number2 != row->cfa_off)
		fail_msg("%lx: the CFA is another", (unsigned long)address);
	for (unsigned reg = 0; reg < b->machine->nr_regs; reg++)
		if (reg != b->machine->sp)
			check_reg(b, frame, row, reg, address);
}

static void count(struct both *b, const struct cfi_row *row)
{
	b->nr_rows++;
	b->nr_plain += row->kind == CFI_ROW_PLAIN;
	b->nr_hard += row->kind == CFI_ROW_HARD;
	b->nr_none += row->kind == CFI_ROW_NONE;
	b->nr_outermost += row->kind == CFI_ROW_OUTERMOST;
}

static void check_address(struct both *b, uint64_t address)
{
	struct cfi_row row = {.kind = CFI_ROW_NONE};
	struct cfi_rules rules;
	Dwarf_Frame *frame = NULL;
	bool is_signal, has = dwarf_cfi_addrframe(b->peer, address, &frame) == 0;

	if (!has && b->is_stub) /* not every linker writes rows of stubs, which are known without */
		return;
	if (unwind_object_rules(b->tables, b->machine, address, &rules))
		cfi_rules_row(&rules, b->machine, &row);
	if (has != (row.kind != CFI_ROW_NONE))
		fail_msg("%lx: %s row", (unsigned long)address, has ? "a" : "no");
	if (has) {
		assert_int_equal(dwarf_frame_info(frame, NULL, NULL, &is_signal), b->machine->ra);
		assert_int_equal(is_signal, row.is_signal);
	}
	if (row.kind == CFI_ROW_PLAIN)
		check_plain(b, frame, &row, address);
	count(b, &row);
	free(frame);
}

static void open_both(struct both *b, const char *path)
{
	const uint8_t *data;
	struct buf bytes;
	size_t len;

	*b = (struct both){.machine = unwind_machine_find(TEST_MACHINE)->cfi};
	buf_init(&bytes, SIZE_MAX / 2);
	assert_int_equal(io_load(AT_FDCWD, path, &bytes), 0);
	assert_int_equal(elf_file_open_mem(bytes.data, bytes.len, true, path, &b->file, NULL), 0);
	data = elf_file_data(b->file, &len);
	elf_version(EV_CURRENT);
	b->elf = elf_memory((char *)(uintptr_t)data, len);
	b->peer = dwarf_getcfi_elf(b->elf);
	assert_non_null(b->peer);
	b->tables = unwind_object_open(b->file);
	assert_non_null(b->tables);
}

static void close_both(struct both *b)
{
	unwind_object_close(b->tables);
	dwarf_cfi_end(b->peer);
	elf_end(b->elf);
	elf_file_close(b->file);
}

/* Addresses that are no multiple of any instruction's length apart, through all code. */
static void check_file(struct both *b, const char *path, uint64_t every)
{
	struct elf_section text;

	open_both(b, path);
	assert_true(elf_file_find_section(b->file, ".text", &text));
	for (uint64_t at = 0; at < text.size; at += every)
		check_address(b, text.address + at);
	b->is_stub = elf_file_find_section(b->file, ".plt", &text);
	if (b->is_stub)
		for (uint64_t at = 0; at < text.size && at < 64; at++)
			check_address(b, text.address + at);
	close_both(b);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	if (strstr(info->dlpi_name, "/libc.so"))
		snprintf(arg, 4096, "%s", info->dlpi_name);
	return 0;
}

TEST(libc)
{
	char path[4096] = "";
	struct both b;

	dl_iterate_phdr(find_libc, path);
	assert_true(*path);
	check_file(&b, path, 13);
	assert_true(b.nr_rows > 10000 && b.nr_plain > b.nr_rows / 2);
}

TEST(self)
{
	struct both b;

	check_file(&b, "/proc/self/exe", 1);
	assert_true(b.nr_rows > 1000 && b.nr_plain > b.nr_rows / 2);
	assert_true(b.nr_outermost > 0); /* _start */
}
