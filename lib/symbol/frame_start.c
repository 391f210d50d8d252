/*
 * The binary search table that linkers write: sorted pairs of 4 bytes each (begin of the code, its
 * entry), relative to the section. Other forms, which no linker in use writes, are none.
 */
#include "symbol/frame_start.h"

#include "elf/file.h"
#include "symbol/word.h"

#include <elf.h>

enum {
	HEAD_BYTES = 12, /* version, three encodings, a pointer and a count of 4 bytes */
	PAIR_BYTES = 8,
	COUNT_UDATA4 = 0x03,
	TABLE_DATAREL_SDATA4 = 0x3b,
};

void frame_table_init(struct frame_table *t, const struct elf_file *f)
{
	struct elf_section s;

	*t = (struct frame_table){.file = f};
	if (!elf_file_load_section(f, ".eh_frame_hdr", &s) || s.size < HEAD_BYTES ||
	    s.data[0] != 1 || s.data[2] != COUNT_UDATA4 || s.data[3] != TABLE_DATAREL_SDATA4)
		return;
	t->address = s.address;
	t->nr = word_32(s.data + 8);
	if (t->nr > (s.size - HEAD_BYTES) / PAIR_BYTES)
		t->nr = (uint32_t)((s.size - HEAD_BYTES) / PAIR_BYTES);
	t->entry = s.data + HEAD_BYTES;
}

static uint64_t address_at(const struct frame_table *t, uint32_t i, unsigned which)
{
	return t->address +
	       (uint64_t)(int64_t)(int32_t)word_32(t->entry + i * PAIR_BYTES + 4 * which);
}

/* Does the entry say that the code ends before the address? Only where its begin is written as
 * nearly all are (4 bytes, relative to themselves): else it is believed. */
static bool is_behind(const struct frame_table *t, uint64_t entry, uint64_t start, uint64_t address)
{
	size_t len;
	const uint8_t *p = elf_file_bytes(t->file, entry, 16, &len);

	if (!p || len < 16 || word_32(p) == UINT32_MAX)
		return false;
	if (entry + 8 + (uint64_t)(int64_t)(int32_t)word_32(p + 8) != start)
		return false;
	return address - start >= word_32(p + 12);
}

bool frame_table_find(const struct frame_table *t, uint64_t address, uint64_t *start)
{
	uint32_t low = 0, n = t->entry ? t->nr : 0;
	uint64_t found;

	while (n) {
		uint32_t half = n / 2;

		if (address_at(t, low + half, 0) <= address) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	if (!low)
		return false;
	found = address_at(t, low - 1, 0);
	if (is_behind(t, address_at(t, low - 1, 1), found, address))
		return false;
	*start = found;
	return true;
}
