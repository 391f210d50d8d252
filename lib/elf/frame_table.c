/*
 * The binary search table: sorted pairs (start of the code, FDE), 4 bytes each, relative to the
 * section. Linkers write no other format.
 */
#include "elf/frame_table.h"

#include "base/order.h"
#include "elf/file.h"

#include <elf.h>
#include <string.h>

enum {
	HEAD_BYTES = 12, /* version, three encodings, a pointer and a count of 4 bytes */
	PAIR_BYTES = 8,
	COUNT_UDATA4 = 0x03,
	TABLE_DATAREL_SDATA4 = 0x3b,
};

static uint32_t word_32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v)); /* files are little-endian, as this machine is */
	return v;
}

void elf_frame_table_init(struct elf_frame_table *t, const struct elf_file *f)
{
	struct elf_section s;

	*t = (struct elf_frame_table){.file = f};
	if (!elf_file_load_section(f, ".eh_frame_hdr", &s) || s.size < HEAD_BYTES ||
	    s.data[0] != 1 || s.data[2] != COUNT_UDATA4 || s.data[3] != TABLE_DATAREL_SDATA4)
		return;
	t->address = s.address;
	t->nr = word_32(s.data + 8);
	if (t->nr > (s.size - HEAD_BYTES) / PAIR_BYTES)
		t->nr = (uint32_t)((s.size - HEAD_BYTES) / PAIR_BYTES);
	t->entry = s.data + HEAD_BYTES;
}

static uint64_t address_at(const struct elf_frame_table *t, uint32_t i, unsigned which)
{
	return t->address +
	       (uint64_t)(int64_t)(int32_t)word_32(t->entry + i * PAIR_BYTES + 4 * which);
}

void elf_frame_table_at(const struct elf_frame_table *t, uint32_t i, uint64_t *start,
			uint32_t *code_len)
{
	const uint64_t found = address_at(t, i, 0), entry = address_at(t, i, 1);
	size_t len;
	const uint8_t *p = elf_file_bytes(t->file, entry, 16, &len);

	/* The FDE has the length of the code. It is only used if the start has the usual format: 4
	 * bytes, relative. */
	*code_len = p && len == 16 && word_32(p) != UINT32_MAX &&
			    entry + 8 + (uint64_t)(int64_t)(int32_t)word_32(p + 8) == found
			? word_32(p + 12)
			: UINT32_MAX;
	*start = found;
}

static bool find(const struct elf_frame_table *t, uint64_t address, uint64_t *start,
		 uint32_t *code_len)
{
	const size_t next =
	    ORDER_FIRST(i, t->entry ? t->nr : 0, address_at(t, (uint32_t)i, 0) > address);

	if (!next)
		return false;
	elf_frame_table_at(t, (uint32_t)next - 1, start, code_len);
	return *code_len == UINT32_MAX || address - *start < *code_len;
}

bool elf_frame_table_find(const struct elf_frame_table *t, uint64_t address, uint64_t *start)
{
	uint64_t found;
	uint32_t len;

	if (!find(t, address, &found, &len))
		return false;
	*start = found;
	return true;
}

bool elf_frame_table_extent(const struct elf_frame_table *t, uint64_t address, uint64_t *start,
			    uint64_t *end)
{
	uint64_t found;
	uint32_t len;

	if (!find(t, address, &found, &len) || len == UINT32_MAX)
		return false;
	*start = found;
	*end = found + len;
	return true;
}
