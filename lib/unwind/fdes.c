/*
 * An entry is a length and that many bytes: a CIE, which several FDEs share, or an FDE. Reads only
 * the 32-bit format, which all compilers write.
 */
#include "unwind/fdes.h"

#include "base/mem.h"
#include "base/order.h"
#include "elf/file.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

enum {
	MAX_LIST = 4 << 20,
	LONG_FORM = 0xfffffff0, /* lengths from here on mark other formats */
	HDR_BYTES = 4,          /* version and three encodings */
	PAIR_BYTES = 8,         /* of 32 bits each, relative to the header */
	HDR_ENCODING = DW_EH_PE_datarel | DW_EH_PE_sdata4,
	MAX_LETTERS = 16,
};

struct unwind_fde_place {
	uint64_t start, end;
	size_t offset;
};

/* An entry, after its id. */
struct entry {
	struct cursor c;
	bool is_cie;
	uint64_t cie; /* of an FDE: the offset of its CIE */
	size_t next;  /* the offset of the next entry */
};

static struct cfi_base base_of(const struct unwind_fdes *f)
{
	return (struct cfi_base){.at = f->data, .address = f->address, .is_32 = f->is_32};
}

static bool read_entry(const struct unwind_fdes *f, uint64_t offset, struct entry *e)
{
	struct cursor c;
	uint32_t len, id;
	uint64_t id_at;

	cursor_init(&c, f->data, f->len);
	if (offset > f->len)
		return false;
	cursor_skip(&c, offset);
	len = cursor_le32(&c);
	if (!cursor_ok(&c) || len >= LONG_FORM || len > c.left)
		return false;
	cursor_init(&e->c, c.at, len);
	e->next = (size_t)(c.at - f->data) + len;
	if (!len) { /* ends the part of one linked object */
		e->is_cie = true;
		return true;
	}
	/* The id of an FDE is the offset of its CIE: in .eh_frame backwards from the id, in
	 * .debug_frame from the start of the section. */
	id_at = (uint64_t)(e->c.at - f->data);
	id = cursor_le32(&e->c);
	e->is_cie = id == (f->is_eh ? 0 : UINT32_MAX);
	e->cie = f->is_eh ? id_at - id : id;
	return cursor_ok(&e->c);
}

/* The data of a CIE: its length, then a part for each letter but the first ("z"). */
static void read_augmentation(struct cursor *c, const char *letters, const struct cfi_base *base,
			      struct cfi_cie *out)
{
	struct cursor data;
	const uint8_t *p;
	uint8_t encoding;
	size_t len;

	if (!*letters)
		return;
	p = cfi_block(c, &len);
	cursor_init(&data, p, p ? len : 0);
	out->has_data = true;
	while (*++letters && cursor_ok(&data)) {
		switch (*letters) {
		case 'R':
			out->encoding = cursor_u8(&data);
			break;
		case 'L': /* of language-specific data */
			cursor_u8(&data);
			break;
		case 'P': /* the personality routine: skipped, so its pointer is not followed */
			encoding = cursor_u8(&data);
			cfi_pointer(&data, encoding & (uint8_t)~DW_EH_PE_indirect, base);
			break;
		case 'S':
			out->is_signal = true;
			break;
		default: /* 'B', 'G': protection of return addresses and memory; no data */
			break;
		}
	}
	c->underflow |= !cursor_ok(&data);
}

static bool read_cie(const struct unwind_fdes *f, uint64_t offset, struct cfi_cie *out)
{
	struct cfi_base base = base_of(f);
	const char *letters;
	const uint8_t *end;
	uint8_t version;
	struct entry e;

	*out = (struct cfi_cie){0};
	if (!read_entry(f, offset, &e) || !e.is_cie)
		return false;
	version = cursor_u8(&e.c);
	letters = (const char *)e.c.at;
	end =
	    e.c.left ? memchr(e.c.at, '\0', e.c.left < MAX_LETTERS ? e.c.left : MAX_LETTERS) : NULL;
	if (!end || (*letters && *letters != 'z'))
		return false;
	cursor_skip(&e.c, (size_t)(end - e.c.at) + 1);
	if (version == 4) {
		uint8_t address_bytes = cursor_u8(&e.c), segment_bytes = cursor_u8(&e.c);

		if (address_bytes != (f->is_32 ? 4 : 8) || segment_bytes)
			return false;
	} else if (version != 1 && version != 3) {
		return false;
	}
	out->code_align = cfi_uleb(&e.c);
	out->data_align = cfi_sleb(&e.c);
	out->ra = version == 1 ? cursor_u8(&e.c) : cfi_uleb(&e.c);
	read_augmentation(&e.c, letters, &base, out);
	out->program = e.c.at;
	out->program_len = e.c.left;
	return cursor_ok(&e.c);
}

static bool read_fde(const struct unwind_fdes *f, struct entry *e, struct cfi_fde *out)
{
	struct cfi_base base = base_of(f);
	size_t len;

	if (e->is_cie || !read_cie(f, e->cie, &out->cie))
		return false;
	out->start = cfi_pointer(&e->c, out->cie.encoding, &base);
	out->len = cfi_pointer(&e->c, out->cie.encoding & 0x0f, &base);
	if (out->cie.has_data)
		cfi_block(&e->c, &len);
	out->program = e->c.at;
	out->program_len = e->c.left;
	return cursor_ok(&e->c);
}

static bool fde_at(const struct unwind_fdes *f, uint64_t offset, uint64_t address,
		   struct cfi_fde *out)
{
	struct entry e;

	return read_entry(f, offset, &e) && read_fde(f, &e, out) && address >= out->start &&
	       address - out->start < out->len;
}

/* A word of the linker's table, as an address. */
static uint64_t table_word(const struct unwind_fdes *f, size_t i)
{
	struct cursor c;

	cursor_init(&c, f->table + i * PAIR_BYTES / 2, PAIR_BYTES / 2);
	return f->table_base + (uint64_t)(int32_t)cursor_le32(&c);
}

static bool find_in_table(const struct unwind_fdes *f, uint64_t address, struct cfi_fde *out)
{
	size_t next = ORDER_FIRST(i, f->nr_table, table_word(f, 2 * i) > address);

	return next && fde_at(f, table_word(f, 2 * next - 1) - f->address, address, out);
}

static int compare(const void *a, const void *b)
{
	const struct unwind_fde_place *x = a, *y = b;

	return order_u64(x->start, y->start);
}

/* Sorted by address. Without memory, it is incomplete. */
static void make_list(struct unwind_fdes *f)
{
	struct entry e = {0};
	size_t room = 0;

	f->is_listed = true;
	for (size_t at = 0; at < f->len && f->nr_list < MAX_LIST && read_entry(f, at, &e);
	     at = e.next) {
		struct unwind_fde_place *place;
		struct cfi_fde fde;

		if (!read_fde(f, &e, &fde) || !fde.len)
			continue;
		place = MEM_ADD(f->list, f->nr_list, room);
		if (!place)
			break;
		*place = (struct unwind_fde_place){
		    .start = fde.start, .end = fde.start + fde.len, .offset = at};
	}
	order_sort(f->list, f->nr_list, sizeof(*f->list), compare);
}

static bool find_in_list(struct unwind_fdes *f, uint64_t address, struct cfi_fde *out)
{
	size_t next;

	if (!f->is_listed)
		make_list(f);
	next = ORDER_FIRST(i, f->nr_list, f->list[i].start > address);
	return next && fde_at(f, f->list[next - 1].offset, address, out);
}

bool unwind_fdes_find(struct unwind_fdes *f, uint64_t address, struct cfi_fde *out)
{
	if (!f->data)
		return false;
	return f->table ? find_in_table(f, address, out) : find_in_list(f, address, out);
}

/* The binary search table, in the only form that linkers write. */
static void find_table(struct unwind_fdes *f, const struct elf_file *file)
{
	struct cfi_base base = {0};
	uint8_t pointer, count, table;
	struct elf_section s;
	struct cursor c;
	uint64_t nr;

	if (!elf_file_load_section(file, ".eh_frame_hdr", &s))
		return;
	cursor_init(&c, s.data, s.size);
	base = (struct cfi_base){
	    .at = s.data, .address = s.address, .data = s.address, .is_32 = f->is_32};
	if (cursor_u8(&c) != 1)
		return;
	pointer = cursor_u8(&c);
	count = cursor_u8(&c);
	table = cursor_u8(&c);
	cfi_pointer(&c, pointer, &base);
	nr = cfi_pointer(&c, count, &base);
	if (!cursor_ok(&c) || table != HDR_ENCODING || !nr || nr > c.left / PAIR_BYTES)
		return;
	f->table = c.at;
	f->nr_table = nr;
	f->table_base = s.address;
}

void unwind_fdes_init(struct unwind_fdes *f, const struct elf_file *file, bool is_eh)
{
	struct elf_section s;

	*f = (struct unwind_fdes){.is_eh = is_eh, .is_32 = !elf_file_is_64(file)};
	if (!elf_file_find_section(file, is_eh ? ".eh_frame" : ".debug_frame", &s) ||
	    s.flags & SHF_COMPRESSED || !elf_file_load(file, &s))
		return;
	f->data = s.data;
	f->len = s.size;
	f->address = s.address;
	if (is_eh)
		find_table(f, file);
}

void unwind_fdes_fini(struct unwind_fdes *f)
{
	mem_free(f->list);
	*f = (struct unwind_fdes){0};
}
