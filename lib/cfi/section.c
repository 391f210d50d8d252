/*
 * An entry is a length and that many bytes: a CIE, which several FDEs share, or an FDE. Reads only
 * the 32-bit format, which all compilers write.
 */
#include "cfi/section.h"

#include "base/order.h"

#include <dwarf.h>
#include <string.h>

enum {
	LONG_FORM = 0xfffffff0, /* lengths from here on mark other formats */
	HDR_BYTES = 4,          /* version and three encodings */
	PAIR_BYTES = 8,         /* of 32 bits each, relative to the header */
	HDR_ENCODING = DW_EH_PE_datarel | DW_EH_PE_sdata4,
	MAX_LETTERS = 16,
};

/* An entry, after its id. */
struct entry {
	struct cursor c;
	bool is_cie;
	uint64_t cie;  /* of an FDE: the offset of its CIE */
	uint64_t next; /* the offset of the next entry */
};

struct cfi_base cfi_section_base(const struct cfi_section *s)
{
	return (struct cfi_base){.at = s->data, .address = s->address, .is_32 = s->is_32};
}

static bool read_entry(const struct cfi_section *s, uint64_t offset, struct entry *e)
{
	struct cursor c;
	uint32_t len, id;
	uint64_t id_at;

	cursor_init(&c, s->data, s->len);
	if (offset > s->len)
		return false;
	cursor_skip(&c, offset);
	len = cursor_le32(&c);
	if (!cursor_ok(&c) || len >= LONG_FORM || len > c.left)
		return false;
	cursor_init(&e->c, c.at, len);
	e->next = (uint64_t)(c.at - s->data) + len;
	if (!len) { /* ends the part of one linked object */
		e->is_cie = true;
		return true;
	}
	/* The id of an FDE is the offset of its CIE: in .eh_frame backwards from the id, in
	 * .debug_frame from the start of the section. */
	id_at = (uint64_t)(e->c.at - s->data);
	id = cursor_le32(&e->c);
	e->is_cie = id == (s->is_eh ? 0 : UINT32_MAX);
	e->cie = s->is_eh ? id_at - id : id;
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
			out->data_encoding = cursor_u8(&data);
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

static bool read_cie(const struct cfi_section *s, uint64_t offset, struct cfi_cie *out)
{
	struct cfi_base base = cfi_section_base(s);
	const char *letters;
	const uint8_t *end;
	uint8_t version;
	struct entry e;

	*out = (struct cfi_cie){.data_encoding = DW_EH_PE_omit};
	if (!read_entry(s, offset, &e) || !e.is_cie)
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

		if (address_bytes != (s->is_32 ? 4 : 8) || segment_bytes)
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

/* What cannot be read is none. A word of 0 is none, too, whatever it is relative to. */
static uint64_t read_pads(const uint8_t *data, size_t len, uint8_t encoding,
			  const struct cfi_base *base)
{
	struct cursor c, word;
	uint64_t pads;

	if (!data || encoding == DW_EH_PE_omit)
		return 0;
	cursor_init(&c, data, len);
	word = c;
	pads = cfi_pointer(&c, encoding, base);
	return cursor_ok(&c) && cfi_pointer(&word, encoding & 0x0f, base) ? pads : 0;
}

static bool read_fde(const struct cfi_section *s, struct entry *e, struct cfi_fde *out)
{
	struct cfi_base base = cfi_section_base(s);
	const uint8_t *data;
	size_t len;

	if (e->is_cie || !read_cie(s, e->cie, &out->cie))
		return false;
	out->start = cfi_pointer(&e->c, out->cie.encoding, &base);
	out->len = cfi_pointer(&e->c, out->cie.encoding & 0x0f, &base);
	out->pads = 0;
	if (out->cie.has_data) {
		data = cfi_block(&e->c, &len);
		out->pads = read_pads(data, len, out->cie.data_encoding, &base);
	}
	out->program = e->c.at;
	out->program_len = e->c.left;
	return cursor_ok(&e->c);
}

bool cfi_section_fde(const struct cfi_section *s, uint64_t offset, uint64_t address,
		     struct cfi_fde *out)
{
	struct entry e;

	return read_entry(s, offset, &e) && read_fde(s, &e, out) && address >= out->start &&
	       address - out->start < out->len;
}

bool cfi_section_next(const struct cfi_section *s, uint64_t *offset, struct cfi_fde *out,
		      bool *is_fde)
{
	struct entry e;

	if (!read_entry(s, *offset, &e))
		return false;
	*offset = e.next;
	*is_fde = read_fde(s, &e, out) && out->len;
	return true;
}

/* The table of .eh_frame_hdr, in the only form that linkers write. */
bool cfi_header_init(struct cfi_header *h, const uint8_t *data, size_t len, uint64_t address,
		     bool is_32)
{
	const struct cfi_base base = {
	    .at = data, .address = address, .data = address, .is_32 = is_32};
	uint8_t pointer, count, table;
	struct cursor c;
	uint64_t nr;

	cursor_init(&c, data, len);
	if (cursor_u8(&c) != 1)
		return false;
	pointer = cursor_u8(&c);
	count = cursor_u8(&c);
	table = cursor_u8(&c);
	cfi_pointer(&c, pointer, &base);
	nr = cfi_pointer(&c, count, &base);
	if (!cursor_ok(&c) || table != HDR_ENCODING || !nr || nr > c.left / PAIR_BYTES)
		return false;
	*h = (struct cfi_header){.table = c.at, .nr = nr, .address = address};
	return true;
}

/* A word of the table, as an address. */
static uint64_t table_word(const struct cfi_header *h, size_t i)
{
	struct cursor c;

	cursor_init(&c, h->table + i * PAIR_BYTES / 2, PAIR_BYTES / 2);
	return h->address + (uint64_t)(int32_t)cursor_le32(&c);
}

/* How many functions start at or before the address. */
static size_t nr_before(const struct cfi_header *h, uint64_t address)
{
	return ORDER_FIRST(i, h->nr, table_word(h, 2 * i) > address);
}

bool cfi_header_find(const struct cfi_header *h, uint64_t address, uint64_t *fde)
{
	const size_t nr = nr_before(h, address);

	if (nr)
		*fde = table_word(h, 2 * nr - 1);
	return nr;
}

void cfi_header_around(const struct cfi_header *h, uint64_t address, uint64_t *start,
		       uint64_t *next)
{
	const size_t nr = nr_before(h, address);

	if (nr)
		*start = table_word(h, 2 * nr - 2);
	if (nr < h->nr)
		*next = table_word(h, 2 * nr);
}
