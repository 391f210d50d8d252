/*
 * Unwind tables that only a program's debug information has, in programs that a compiler makes
 * here.
 */
#include "kit.h"
#include "test_unwind.h"

#include "base/buf.h"
#include "base/io.h"

#include "unwind/machine.h"
#include "unwind/object.h"

#include "elf/file.h"
#include "paths.h"

#include <stdio.h>
#include <stdlib.h>

static struct elf_file *open_in(const struct root *r, const char *name)
{
	char path[512];
	struct elf_file *f;
	struct buf b;

	snprintf(path, sizeof(path), "%s/%s", r->dir, name);
	buf_init(&b, SIZE_MAX / 2);
	assert_int_equal(io_load(AT_FDCWD, path, &b), 0);
	assert_int_equal(elf_file_open_mem(b.data, b.len, true, path, &f, NULL), 0);
	return f;
}

/* A program whose function has an entry in .debug_frame only: its own, or that of its debug file,
 * compressed or not. */
TEST(debug_frame)
{
	struct root r = tree_make();
	const struct cfi_machine *m = unwind_machine_find(TEST_MACHINE)->cfi;
	struct elf_file *whole, *stripped, *debug, *packed;
	struct unwind_object *o;
	struct cfi_rules rules;
	struct elf_section s;
	const uint8_t *data;
	uint64_t entry;
	char command[2048];
	size_t len;

	snprintf(command, sizeof(command),
		 "cd '%s' && for f in f g h i j k l m n o; do echo \"int $f(int x) { return x + 1; "
		 "}\"; done >p.c && "
		 "cc -g -shared -fno-asynchronous-unwind-tables -fno-unwind-tables -Wl,-e,f "
		 "-o p p.c && strip -g -o q p && objcopy --only-keep-debug p p.debug && "
		 "objcopy --compress-debug-sections=zstd p.debug packed.debug",
		 r.dir);
	assert_int_equal(system(command), 0);
	whole = open_in(&r, "p");
	stripped = open_in(&r, "q");
	debug = open_in(&r, "p.debug");
	packed = open_in(&r, "packed.debug");
	assert_true(elf_file_find_section(packed, ".debug_frame", &s) && s.is_packed);
	data = elf_file_data(whole, &len);
	memcpy(&entry, data + offsetof(Elf64_Ehdr, e_entry), sizeof(entry));
	assert_true(elf_file_find_section(whole, ".eh_frame", &s) && s.size);

	o = unwind_object_open(whole);
	assert_true(unwind_object_rules(o, m, entry, &rules));
	unwind_object_close(o);
	o = unwind_object_open(stripped);
	assert_false(unwind_object_rules(o, m, entry, &rules));
	unwind_object_add_debug(o, debug);
	assert_true(unwind_object_rules(o, m, entry, &rules));
	assert_int_equal(rules.cfa.kind, CFI_RULE_REG);
	unwind_object_close(o);
	o = unwind_object_open(stripped);
	unwind_object_add_debug(o, packed);
	assert_true(unwind_object_rules(o, m, entry, &rules));
	unwind_object_close(o);

	elf_file_close(whole);
	elf_file_close(stripped);
	elf_file_close(debug);
	elf_file_close(packed);
	tree_remove(&r);
}

/* Opens a kept program, some of whose sections have other names. */
static struct elf_file *open_without(const char *const *names, size_t nr)
{
	struct elf_file *f;
	struct buf b;
	char *at;

	buf_init(&b, SIZE_MAX / 2);
	assert_int_equal(
	    io_load(AT_FDCWD, SOURCE_DIR "/tests/data/unwind/sframe-" TEST_MACHINE ".3.so", &b), 0);
	for (size_t i = 0; i < nr; i++) {
		at = memmem(b.data, b.len, names[i], strlen(names[i]) + 1);
		assert_non_null(at);
		at[1] = '_';
	}
	assert_int_equal(elf_file_open_mem(b.data, b.len, true, "kept", &f, NULL), 0);
	return f;
}

/* A program that has only the simple table; and one that has both, of which the exact one counts.
 */
TEST(simple_table)
{
	static const char *const names[] = {".eh_frame", ".sframe"};
	const struct cfi_machine *m = unwind_machine_find(TEST_MACHINE)->cfi;
	static const uint8_t kinds[] = {CFI_RULE_UNSAID, CFI_RULE_LOST};

	for (size_t nr = 0; nr <= NR(names); nr++) {
		struct elf_file *f = open_without(names, nr);
		struct unwind_object *o = unwind_object_open(f);
		struct cfi_rules rules;
		uint64_t entry;
		size_t len;

		memcpy(&entry, elf_file_data(f, &len) + offsetof(Elf64_Ehdr, e_entry),
		       sizeof(entry));
		assert_int_equal(unwind_object_rules(o, m, entry, &rules), nr < NR(names));
		if (nr < NR(names)) /* a register of which the simple one says nothing */
			assert_int_equal(rules.reg[0].kind, kinds[nr]);
		unwind_object_close(o);
		elf_file_close(f);
	}
}
