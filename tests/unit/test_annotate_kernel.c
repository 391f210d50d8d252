/*
 * The kernel's code from a made /proc/kcore: ranges of addresses, and files that are none.
 */
#include "kit.h"

#include "annotate/kernel.h"

#include <elf.h>

static struct root tree;

HOOK(before_each)
{
	tree = tree_make();
}

HOOK(after_each)
{
	tree_remove(&tree);
}

struct image {
	Elf64_Ehdr head;
	Elf64_Phdr segment[3];
	uint8_t code[64];
};

static struct image make(void)
{
	struct image i = {
	    .head = {.e_machine = EM_AARCH64,
		     .e_phoff = offsetof(struct image, segment),
		     .e_phentsize = sizeof(Elf64_Phdr),
		     .e_phnum = 3},
	    .segment = {{.p_type = PT_NOTE, .p_vaddr = 0xffff000000000000, .p_filesz = 4096},
			{.p_type = PT_LOAD,
			 .p_vaddr = 0xffff000000001000,
			 .p_offset = offsetof(struct image, code),
			 .p_filesz = 32},
			{.p_type = PT_LOAD,
			 .p_vaddr = 0xffff000000002000,
			 .p_offset = UINT64_MAX - 8,
			 .p_filesz = 64}},
	};

	memcpy(i.head.e_ident, ELFMAG, SELFMAG);
	i.head.e_ident[EI_CLASS] = ELFCLASS64;
	i.head.e_ident[EI_DATA] = ELFDATA2LSB;
	for (size_t n = 0; n < sizeof(i.code); n++)
		i.code[n] = (uint8_t)n;
	return i;
}

static int open_image(const struct image *i, size_t len, struct annotate_kernel **k, struct err *e)
{
	tree_put(&tree, "/proc/kcore", i, len);
	return annotate_kernel_open(&tree, k, e);
}

TEST(ranges)
{
	static const struct {
		uint64_t address;
		size_t len, is;
		uint8_t first;
	} cases[] = {
	    {0xffff000000001000, 16, 16, 0}, {0xffff000000001008, 64, 24, 8},
	    {0xffff00000000101f, 64, 1, 31}, {0xffff000000001020, 16, 0, 0},
	    {0xffff000000000fff, 16, 0, 0},  {0xffff000000000000, 16, 0, 0},
	    {0xffff000000002000, 16, 0, 0},  {0xffff00000000203f, 1, 0, 0},
	    {UINT64_MAX, 16, 0, 0},
	};
	const struct image i = make();
	struct annotate_kernel *k;
	struct err e = {0};

	assert_int_equal(open_image(&i, sizeof(i), &k, &e), 0);
	assert_int_equal(annotate_kernel_machine(k), EM_AARCH64);
	for (size_t n = 0; n < NR(cases); n++) {
		uint8_t to[64] = {0};

		assert_int_equal(annotate_kernel_read(k, cases[n].address, to, cases[n].len),
				 cases[n].is);
		assert_int_equal(to[0], cases[n].first);
	}
	annotate_kernel_close(k);
}

TEST(refused)
{
	struct image i = make();
	struct annotate_kernel *k = NULL;
	struct err e = {0};

	assert_int_equal(annotate_kernel_open(&tree, &k, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "kernel functions have no instructions"));
	err_clear(&e);
	assert_int_equal(open_image(&i, sizeof(i.head) - 1, &k, &e), -EINVAL);
	assert_int_equal(open_image(&i, sizeof(i.head) + 8, &k, NULL), -EINVAL);
	i.head.e_phnum = 0;
	assert_int_equal(open_image(&i, sizeof(i), &k, NULL), -EINVAL);
	i = make();
	i.head.e_phentsize = 1;
	assert_int_equal(open_image(&i, sizeof(i), &k, NULL), -EINVAL);
	i = make();
	i.head.e_phoff = UINT64_MAX - 1;
	assert_int_equal(open_image(&i, sizeof(i), &k, NULL), -EINVAL);
	i = make();
	i.head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(open_image(&i, sizeof(i), &k, NULL), -EINVAL);
	assert_null(k);
}
