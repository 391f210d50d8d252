/*
 * The functions of an ELF file, as its unwind table has them, for tests of lib/patch.
 */
#ifndef TEST_PATCH_H
#define TEST_PATCH_H

#include "kit.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/order.h"
#include "cfi/section.h"
#include "elf/file.h"
#include "patch/exits.h"

#include <elf.h>

struct patch_file {
	struct buf bytes;
	struct elf_file *elf;
	struct cfi_section frames;
	struct cfi_base base;
	uint64_t slots, slots_end;
	struct cfi_fde *fde; /* sorted by address, without overlaps */
	size_t nr;
};

static inline bool patch_depth(void *arg, uint64_t address, int64_t *least, int64_t *most)
{
	enum { RBP = 6, RSP = 7, WORD = 8 };
	const void *const *both = arg;
	const struct patch_file *f = both[0];
	struct cfi_rules rules;

	if (!cfi_program_run(&cfi_machine_x86_64, both[1], &f->base, address, &rules) ||
	    rules.cfa.kind != CFI_RULE_REG || (rules.cfa.off != RSP && rules.cfa.off != RBP))
		return false;
	*least = rules.cfa.plus - WORD;
	*most = rules.cfa.off == RSP ? *least : INT64_MAX;
	return true;
}

/* To where a function begins, as the unwind table has it. */
static inline enum patch_leaving patch_leaves(void *arg, uint64_t target)
{
	const struct patch_file *f = ((const void *const *)arg)[0];
	size_t behind = ORDER_FIRST(i, f->nr, f->fde[i].start > target);

	return behind && f->fde[behind - 1].start == target ? PATCH_LEAVES_FOR_GOOD
							    : PATCH_LEAVES_UNKNOWN;
}

static inline int patch_by_start(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static inline void patch_file_close(struct patch_file *f)
{
	free(f->fde);
	elf_file_close(f->elf);
	buf_fini(&f->bytes);
}

static inline void patch_find_slots(struct patch_file *f)
{
	static const char *const names[] = {".got", ".got.plt"};
	struct elf_section s;

	for (size_t i = 0; i < NR(names); i++)
		if (elf_file_find_section(f->elf, names[i], &s)) {
			f->slots = f->slots ? f->slots : s.address;
			f->slots_end = s.address + s.size;
		}
}

static inline void patch_find_functions(struct patch_file *f)
{
	size_t room = 0, nr = 0;
	uint64_t at = 0;
	struct cfi_fde fde;
	bool is_fde;

	while (cfi_section_next(&f->frames, &at, &fde, &is_fde)) {
		if (!is_fde || !fde.len)
			continue;
		if (nr == room) {
			room = room ? 2 * room : 256;
			f->fde = realloc(f->fde, room * sizeof(*f->fde));
		}
		f->fde[nr++] = fde;
	}
	order_sort(f->fde, nr, sizeof(*f->fde), patch_by_start);
	for (size_t i = 0; i < nr; i++)
		if (!f->nr || f->fde[i].start >= f->fde[f->nr - 1].start + f->fde[f->nr - 1].len)
			f->fde[f->nr++] = f->fde[i];
}

/* False: it is no such file of x86-64. */
static inline bool patch_file_open(struct patch_file *f, const char *path)
{
	struct elf_section s;

	memset(f, 0, sizeof(*f));
	buf_init(&f->bytes, SIZE_MAX);
	if (io_load(AT_FDCWD, path, &f->bytes) < 0 ||
	    elf_file_open_mem(f->bytes.data, f->bytes.len, false, path, &f->elf, NULL) < 0 ||
	    elf_file_machine(f->elf) != EM_X86_64 ||
	    !elf_file_load_section(f->elf, ".eh_frame", &s)) {
		patch_file_close(f);
		return false;
	}
	f->frames = (struct cfi_section){
	    .data = s.data, .len = s.size, .address = s.address, .is_eh = true};
	f->base = cfi_section_base(&f->frames);
	patch_find_slots(f);
	patch_find_functions(f);
	return true;
}

/* The ith function; false: it has no bytes. arg: 2 pointers, which are what depth asks. */
static inline bool patch_file_function(const struct patch_file *f, size_t i, const void *arg[2],
				       struct patch_function *out)
{
	enum { MAX_PADDING = 16 };
	const struct cfi_fde *fde = &f->fde[i];
	uint64_t end = i + 1 < f->nr ? f->fde[i + 1].start : fde->start + fde->len;
	size_t len;
	const uint8_t *bytes = elf_file_bytes(f->elf, fde->start, fde->len + MAX_PADDING, &len);

	if (!bytes || len < fde->len)
		return false;
	if (end - fde->start < len)
		len = end - fde->start;
	arg[0] = f;
	arg[1] = fde;
	*out = (struct patch_function){.code = {bytes, fde->len, fde->start},
				       .padding_len = len - fde->len,
				       .slots = f->slots,
				       .slots_end = f->slots_end,
				       .depth = patch_depth,
				       .leaves = patch_leaves,
				       .arg = arg};
	return true;
}

#endif
