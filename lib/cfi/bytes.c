/*
 * LEB128 and encoded pointers.
 */
#include "cfi/bytes.h"

#include <dwarf.h>

enum { MORE = 0x80, SIGN = 0x40, BITS = 7, MAX_SHIFT = 63, MAX_BITS = 16 * BITS };

/* Drops bits beyond the 64th. *shift: the number of bits. Numbers longer than any padding needs are
 * invalid. */
static uint64_t leb(struct cursor *c, unsigned *shift, uint8_t *last)
{
	uint64_t v = 0;

	*shift = 0;
	do {
		*last = cursor_u8(c);
		if (*shift <= MAX_SHIFT)
			v |= (uint64_t)(*last & ~MORE) << *shift;
		*shift += BITS;
	} while (*last & MORE && *shift < MAX_BITS);
	c->underflow |= *last & MORE;
	return v;
}

uint64_t cfi_uleb(struct cursor *c)
{
	unsigned shift;
	uint8_t last;

	return leb(c, &shift, &last);
}

int64_t cfi_sleb(struct cursor *c)
{
	unsigned shift;
	uint8_t last;
	uint64_t v = leb(c, &shift, &last);

	if (last & SIGN && shift <= MAX_SHIFT)
		v |= UINT64_MAX << shift;
	return (int64_t)v;
}

const uint8_t *cfi_block(struct cursor *c, size_t *len)
{
	*len = cfi_uleb(c);
	return cursor_bytes(c, *len);
}

static uint64_t value(struct cursor *c, uint8_t format, bool is_32)
{
	switch (format) {
	case DW_EH_PE_absptr:
		return is_32 ? cursor_le32(c) : cursor_le64(c);
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cursor_le64(c);
	case DW_EH_PE_udata4:
		return cursor_le32(c);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)cursor_le32(c);
	case DW_EH_PE_udata2:
		return cursor_le16(c);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)cursor_le16(c);
	case DW_EH_PE_uleb128:
		return cfi_uleb(c);
	case DW_EH_PE_sleb128:
		return (uint64_t)cfi_sleb(c);
	default:
		c->underflow = true;
		return 0;
	}
}

uint64_t cfi_pointer(struct cursor *c, uint8_t encoding, const struct cfi_base *base)
{
	uint64_t here = base->address + (uint64_t)(c->at - base->at);
	uint64_t v = value(c, encoding & 0x0f, base->is_32);

	switch (encoding & 0xf0) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		v += here;
		break;
	case DW_EH_PE_datarel:
		v += base->data;
		break;
	default:
		c->underflow = true;
		return 0;
	}
	return base->is_32 ? (uint32_t)v : v;
}
