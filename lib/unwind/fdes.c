/*
 * Finds a function's entry by the linker's table, or by a list of the section's entries.
 */
#include "unwind/fdes.h"

#include "base/mem.h"
#include "base/order.h"
#include "elf/file.h"

enum { MAX_LIST = 4 << 20 };

struct unwind_fde_place {
	uint64_t start, end;
	size_t offset;
};

static bool find_in_table(const struct unwind_fdes *f, uint64_t address, struct cfi_fde *out)
{
	uint64_t fde;

	return cfi_header_find(&f->header, address, &fde) &&
	       cfi_section_fde(&f->section, fde - f->section.address, address, out);
}

static int compare(const void *a, const void *b)
{
	const struct unwind_fde_place *x = a, *y = b;

	return order_u64(x->start, y->start);
}

/* Sorted by address. Without memory, it is incomplete. */
static void make_list(struct unwind_fdes *f)
{
	uint64_t at = 0, next = 0;
	struct cfi_fde fde;
	size_t room = 0;
	bool is_fde;

	f->is_listed = true;
	for (; at < f->section.len && f->nr_list < MAX_LIST &&
	       cfi_section_next(&f->section, &next, &fde, &is_fde);
	     at = next) {
		struct unwind_fde_place *place;

		if (!is_fde)
			continue;
		place = MEM_ADD(f->list, f->nr_list, room);
		if (!place)
			break;
		*place = (struct unwind_fde_place){
		    .start = fde.start, .end = fde.start + fde.len, .offset = at};
	}
	order_sort(f->list, f->nr_list, sizeof(*f->list), compare);
}

/* How many functions of the list begin at or before the address. */
static size_t list_before(struct unwind_fdes *f, uint64_t address)
{
	if (!f->is_listed)
		make_list(f);
	return ORDER_FIRST(i, f->nr_list, f->list[i].start > address);
}

static bool find_in_list(struct unwind_fdes *f, uint64_t address, struct cfi_fde *out)
{
	const size_t nr = list_before(f, address);

	return nr && cfi_section_fde(&f->section, f->list[nr - 1].offset, address, out);
}

bool unwind_fdes_find(struct unwind_fdes *f, uint64_t address, struct cfi_fde *out)
{
	if (!f->section.data)
		return false;
	return f->header.table ? find_in_table(f, address, out) : find_in_list(f, address, out);
}

void unwind_fdes_around(struct unwind_fdes *f, uint64_t address, uint64_t *start, uint64_t *next)
{
	size_t nr;

	if (!f->section.data)
		return;
	if (f->header.table) {
		cfi_header_around(&f->header, address, start, next);
		return;
	}
	nr = list_before(f, address);
	if (nr)
		*start = f->list[nr - 1].start;
	if (nr < f->nr_list)
		*next = f->list[nr].start;
}

static void find_table(struct unwind_fdes *f, const struct elf_file *file)
{
	struct elf_section s;

	if (elf_file_load_section(file, ".eh_frame_hdr", &s) &&
	    !cfi_header_init(&f->header, s.data, s.size, s.address, f->section.is_32))
		f->header.table = NULL;
}

void unwind_fdes_init(struct unwind_fdes *f, const struct elf_file *file, bool is_eh)
{
	struct elf_section s;

	*f = (struct unwind_fdes){.section = {.is_eh = is_eh, .is_32 = !elf_file_is_64(file)}};
	if (!elf_file_load_section(file, is_eh ? ".eh_frame" : ".debug_frame", &s))
		return;
	f->section.data = s.data;
	f->section.len = s.size;
	f->section.address = s.address;
	if (is_eh)
		find_table(f, file);
}

void unwind_fdes_fini(struct unwind_fdes *f)
{
	mem_free(f->list);
	*f = (struct unwind_fdes){0};
}
