/*
 * Any bytes as an ELF file with functions: nothing outside of it is touched, each place is in the
 * file, and each instruction ends within what was given.
 */
#include "base/mem.h"
#include "elf/file.h"
#include "functions/ends.h"
#include "functions/list.h"
#include "functions/pattern.h"
#include "functions/x86.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void check_code(const uint8_t *data, size_t size)
{
	struct functions_x86 i;

	for (size_t at = 0; at < size && functions_x86_decode(data + at, size - at, &i);
	     at += i.len)
		require(i.len && i.len <= 15 && i.len <= size - at);
}

struct places {
	size_t nr, size;
	uint64_t address;
};

static int check_place(const struct functions_place *p, void *arg)
{
	struct places *all = arg;

	require(!all->nr++ || p->address > all->address); /* one for each address */
	all->address = p->address;
	if (!p->refused)
		require(p->offset < all->size && *p->name);
	return 0;
}

static void check_file(const struct elf_file *f, size_t size)
{
	const struct functions_pattern all = {.glob = "*"};
	struct functions_ends ends = {NULL};
	struct places places = {.size = size};
	struct functions_list l;

	functions_ends_add(&ends, f, "/a/file");
	if (functions_list_load(f, "/a/file", NULL, &l))
		return;
	(void)functions_list_each(&l, &all, check_place, &places);
	functions_list_fini(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = mem_alloc(size + 1);
	struct elf_file *f;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	check_code(copy, size);
	if (elf_file_open_mem(copy, size, false, "fuzz", &f, NULL) == 0) {
		check_file(f, size);
		elf_file_close(f);
	}
	mem_free(copy);
	return 0;
}
