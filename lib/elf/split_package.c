/*
 * The index is a hash table of the units' numbers; of each unit a row says which bytes of each
 * section are its own. Strings are shared by all units: those of one unit are copied, and its
 * table of their offsets is made anew.
 */
#include "base/buf.h"
#include "elf/dwarf_image.h"
#include "elf/layout.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	GNU_VERSION = 2, /* before DWARF 5 */
	VERSION = 5,
	INDEX_HEADER_BYTES = 16,
	WORD_BYTES = 4,
	ID_BYTES = 8,
	MAX_COLUMNS = 16,
	MAX_PROBES = 1024,            /* a third of the slots is free */
	MAX_STRINGS_BYTES = 64 << 20, /* of a unit */
	OFFSETS_HEADER_BYTES = 8,     /* from DWARF 5 on */
};

/* The row of a unit. */
struct row {
	unsigned version;
	uint32_t nr_columns;
	const uint8_t *kinds;          /* of the columns' sections */
	const uint8_t *offsets, *lens; /* by column */
};

static uint32_t word(const uint8_t *p)
{
	return (uint32_t)elf_load(p, WORD_BYTES);
}

/* Probes as the format says; the number of slots is a power of two. Rows are numbered from 1; 0:
 * the unit is in no slot. */
static uint32_t find_id(const uint8_t *ids, uint32_t nr_slots, uint64_t id)
{
	const uint8_t *rows = ids + (size_t)nr_slots * ID_BYTES;
	const uint64_t mask = (uint64_t)nr_slots - 1, step = (id >> 32 & mask) | 1;
	uint64_t slot = id & mask;

	for (uint32_t i = 0; i < nr_slots && i < MAX_PROBES; i++) {
		const uint32_t row = word(rows + slot * WORD_BYTES);

		if (!row || elf_load(ids + slot * ID_BYTES, ID_BYTES) == id)
			return row;
		slot = (slot + step) & mask;
	}
	return 0;
}

static bool find_row(const struct elf_file *dwp, uint64_t id, struct row *out)
{
	struct elf_section s;
	uint32_t nr_columns, nr_rows, nr_slots, row;
	uint64_t row_bytes, need;
	const uint8_t *p;

	if (!elf_file_load_section(dwp, ".debug_cu_index", &s) || s.size < INDEX_HEADER_BYTES)
		return false;
	out->version = (unsigned)elf_load(s.data, 2);
	nr_columns = word(s.data + 4);
	nr_rows = word(s.data + 8);
	nr_slots = word(s.data + 12);
	if ((out->version != VERSION && out->version != GNU_VERSION) || nr_columns > MAX_COLUMNS ||
	    nr_slots & (nr_slots - 1))
		return false;
	row_bytes = (uint64_t)nr_columns * WORD_BYTES;
	need = INDEX_HEADER_BYTES + (uint64_t)nr_slots * (ID_BYTES + WORD_BYTES) + row_bytes +
	       2 * nr_rows * row_bytes;
	if (need > s.size)
		return false;
	p = s.data + INDEX_HEADER_BYTES;
	row = find_id(p, nr_slots, id);
	if (!row || row > nr_rows)
		return false;
	p += (size_t)nr_slots * (ID_BYTES + WORD_BYTES);
	out->nr_columns = nr_columns;
	out->kinds = p;
	out->offsets = p + row * row_bytes; /* behind the kinds */
	out->lens = out->offsets + nr_rows * row_bytes;
	return true;
}

/* The section of a column, if a query of functions needs it; else NULL. */
static const char *section_of(unsigned version, uint32_t kind)
{
	static const struct {
		uint32_t kind;
		const char *name;
		unsigned first_version;
	} wanted[] = {
	    {1, ".debug_info.dwo", GNU_VERSION},
	    {3, ".debug_abbrev.dwo", GNU_VERSION},
	    {6, ".debug_str_offsets.dwo", GNU_VERSION},
	    {8, ".debug_rnglists.dwo", VERSION},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (wanted[i].kind == kind && version >= wanted[i].first_version)
			return wanted[i].name;
	return NULL;
}

static void add_columns(const struct elf_file *dwp, const struct row *row, struct dwarf_image *m)
{
	for (uint32_t i = 0; i < row->nr_columns; i++) {
		const char *name = section_of(row->version, word(row->kinds + i * WORD_BYTES));
		struct elf_section s;

		if (name && elf_file_find_section(dwp, name, &s) &&
		    elf_file_load_part(dwp, &s, word(row->offsets + i * WORD_BYTES),
				       word(row->lens + i * WORD_BYTES)))
			dwarf_image_add(m, name,
					&(struct dwarf_image_part){.data = s.data, .len = s.size});
	}
}

/* Appends a string of those that end within len bytes, and its new offset; an invalid one is empty.
 */
static void add_string(const uint8_t *all, size_t len, uint32_t at, struct buf *strings,
		       struct buf *offsets)
{
	const uint8_t *p = all + at, *end = at < len ? memchr(p, '\0', len - at) : NULL;

	buf_le32(offsets, end ? (uint32_t)strings->len : 0);
	if (end)
		buf_add(strings, p, (size_t)(end - p) + 1);
}

/* Replaces the unit's offsets by those of its strings. 0, -ENODATA, or -ENOMEM. */
static int make_strings(const struct elf_file *dwp, const struct row *row, struct dwarf_image *m,
			struct buf *strings, struct buf *offsets)
{
	struct dwarf_image_part *part = dwarf_image_find(m, ".debug_str_offsets.dwo");
	const size_t head = row->version == VERSION ? OFFSETS_HEADER_BYTES : 0;
	struct elf_section all;
	const uint8_t *last;

	if (!part || part->len < head || !elf_file_load_section(dwp, ".debug_str.dwo", &all))
		return -ENODATA;
	last = memrchr(all.data, '\0', all.size);
	buf_addc(strings, '\0');
	buf_add(offsets, part->data, head);
	for (size_t at = head; last && at + WORD_BYTES <= part->len && !buf_error(strings);
	     at += WORD_BYTES)
		add_string(all.data, (size_t)(last - all.data) + 1, word(part->data + at), strings,
			   offsets);
	if (!elf_file_pay(dwp, buf_error(strings) ? MAX_STRINGS_BYTES : strings->len) ||
	    buf_error(strings) || buf_error(offsets))
		return -ENOMEM;
	part->data = (const uint8_t *)offsets->data;
	part->len = offsets->len;
	dwarf_image_add(m, ".debug_str.dwo",
			&(struct dwarf_image_part){.data = (const uint8_t *)strings->data,
						   .len = strings->len});
	return 0;
}

int elf_split_open_packaged(const struct elf_file *dwp, uint64_t id,
			    const struct elf_split_lent *lent, struct elf_dwarf *out)
{
	struct dwarf_image m = {.names_len = 1};
	struct row row;
	int rc;
	BUF_AUTO(strings, MAX_STRINGS_BYTES);
	BUF_AUTO(offsets, MAX_STRINGS_BYTES);

	if (!find_row(dwp, id, &row))
		return -ENODATA;
	add_columns(dwp, &row, &m);
	rc = make_strings(dwp, &row, &m, &strings, &offsets);
	return rc ?: dwarf_image_open(&m, dwp, lent, out);
}
