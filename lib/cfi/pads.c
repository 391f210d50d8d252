/*
 * The table is a head (where landing pads are counted from, where types are), then a row for each
 * range of calls: begin, length, landing pad or 0, action. Source: the Itanium C++ ABI, Exception
 * Handling, 7.
 */
#include "cfi/pads.h"

#include <dwarf.h>

/* The begin of the rows, in a cursor that ends with them. */
static bool read_head(struct cursor *c, const struct cfi_base *base, uint64_t *from,
		      uint8_t *encoding)
{
	uint8_t of_from = cursor_u8(c), of_types;
	uint64_t len;

	if (of_from != DW_EH_PE_omit)
		*from = cfi_pointer(c, of_from, base);
	of_types = cursor_u8(c);
	if (of_types != DW_EH_PE_omit)
		cfi_uleb(c);
	*encoding = cursor_u8(c);
	len = cfi_uleb(c);
	if (!cursor_ok(c) || len > c->left)
		return false;
	cursor_init(c, c->at, len);
	return true;
}

bool cfi_pads_each(const struct cfi_fde *fde, const uint8_t *bytes, size_t len,
		   void (*fn)(void *arg, uint64_t address), void *arg)
{
	const struct cfi_base base = {.at = bytes, .address = fde->pads};
	uint64_t from = fde->start;
	struct cursor c;
	uint8_t encoding;

	cursor_init(&c, bytes, len);
	if (!read_head(&c, &base, &from, &encoding))
		return false;
	while (c.left) {
		uint64_t pad;

		cfi_pointer(&c, encoding, &base);
		cfi_pointer(&c, encoding, &base);
		pad = cfi_pointer(&c, encoding, &base);
		cfi_uleb(&c);
		if (!cursor_ok(&c))
			return false;
		if (pad)
			fn(arg, from + pad);
	}
	return true;
}
