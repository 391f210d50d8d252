#include "functions/starts.h"

#include "base/order.h"
#include "functions/x86.h"

#include <elf.h>
#include <string.h>

enum {
	VERSION = 1,
	PCREL_SDATA4 = 0x1b,
	UDATA4 = 0x03,
	DATAREL_SDATA4 = 0x3b,
	HEAD_BYTES = 12,
	ROW_BYTES = 8,
	MAX_WALK_BYTES = 1 << 16, /* from a begin to the symbol */
};

static uint32_t read_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* An address that is relative to another one. */
static uint64_t relative(uint64_t to, const uint8_t *p)
{
	return to + (uint64_t)(int64_t)(int32_t)read_u32(p);
}

/* Both linkers write it in this one form. */
void functions_starts_load(const struct elf_file *f, struct functions_starts *out)
{
	struct functions_starts s = {.nr = 0};
	const uint8_t *head;

	*out = s;
	if (elf_file_machine(f) != EM_X86_64 || !elf_file_is_64(f) ||
	    !elf_file_load_section(f, ".eh_frame_hdr", &s.table) || s.table.size < HEAD_BYTES)
		return;
	head = s.table.data;
	if (head[0] != VERSION || head[1] != PCREL_SDATA4 || head[2] != UDATA4 ||
	    head[3] != DATAREL_SDATA4)
		return;
	s.base = s.table.address;
	s.row = head + HEAD_BYTES;
	s.nr = read_u32(head + 8);
	if (s.nr > (s.table.size - HEAD_BYTES) / ROW_BYTES)
		return;
	*out = s;
}

static uint64_t begin_of(const struct functions_starts *s, size_t row)
{
	return relative(s->base, s->row + row * ROW_BYTES);
}

/* Of the piece of code that begins there, by its description: length, number of its head, begin,
 * size. 0: it has another form, which shows by a begin that is another one. */
static uint64_t size_of(const struct functions_starts *s, const struct elf_file *f, size_t row)
{
	enum { BEGIN = 8, SIZE = 12, BYTES = 16 };
	uint64_t at = relative(s->base, s->row + row * ROW_BYTES + 4);
	size_t len = 0;
	const uint8_t *fde = elf_file_bytes(f, at, BYTES, &len);

	if (!fde || len < BYTES || relative(at + BEGIN, fde + BEGIN) != begin_of(s, row))
		return 0;
	return read_u32(fde + SIZE);
}

/* Data among code is not decoded: then it is not known. */
static bool is_reached(const struct elf_file *f, uint64_t begin, uint64_t address)
{
	size_t len = 0;
	const uint8_t *code = elf_file_bytes(f, begin, MAX_WALK_BYTES, &len);
	size_t distance = (size_t)(address - begin), at = 0;
	struct functions_x86 i;

	while (code && at < distance && at < len) {
		if (!functions_x86_decode(code + at, len - at, &i))
			return false;
		at += i.len;
	}
	return code && at == distance;
}

enum functions_start functions_starts_find(const struct functions_starts *s,
					   const struct elf_file *f, uint64_t address)
{
	size_t behind = ORDER_FIRST(i, s->nr, begin_of(s, i) > address);
	uint64_t begin;

	if (!behind)
		return FUNCTIONS_START_OWN;
	begin = begin_of(s, behind - 1);
	if (begin == address || address - begin >= size_of(s, f, behind - 1))
		return FUNCTIONS_START_OWN;
	return is_reached(f, begin, address) ? FUNCTIONS_START_WITHIN : FUNCTIONS_START_NONE;
}
