/*
 * Any bytes as an ELF file with functions: nothing outside of it is touched, each place is in the
 * file, and each instruction ends within what was given.
 */
#include "base/err.h"
#include "base/mem.h"
#include "elf/file.h"
#include "elf/parameters.h"
#include "functions/ends.h"
#include "functions/list.h"
#include "functions/pattern.h"
#include "functions/signature.h"
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

static void check_parameters(const struct elf_file *f)
{
	static const uint64_t address[] = {0, 0x1000, 0x1139, 0x401136};
	enum { NR = sizeof(address) / sizeof(*address) };
	struct elf_parameters found[NR];
	struct functions_signature s;

	elf_parameters_find(f, address, NR, found);
	for (size_t i = 0; i < NR; i++) {
		require(found[i].nr <= ELF_MAX_PARAMETERS);
		(void)functions_signature_make(&found[i], &s);
		require(s.nr <= FUNCTIONS_MAX_VALUES);
	}
}

static void check_signature(const uint8_t *data, size_t size)
{
	char *text = mem_alloc(size + 1);
	struct functions_signature s;
	struct err e = {0};
	size_t len = 0;

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	if (functions_signature_parse(text, &len, &s, &e) == 0)
		require(len <= strlen(text) && s.nr <= FUNCTIONS_MAX_VALUES);
	mem_free(text);
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
	check_signature(data, size);
	if (elf_file_open_mem(copy, size, false, "fuzz", &f, NULL) == 0) {
		check_file(f, size);
		check_parameters(f);
		elf_file_close(f);
	}
	mem_free(copy);
	return 0;
}
