/*
 * The bytes at the base are copied, too, so that the next stack can be compared with a shortened
 * one.
 */
#include "whole/bases.h"

#include "base/hash.h"

#include <string.h>

static size_t slot_of(uint32_t tid)
{
	return hash_mix(0, tid) % WHOLE_BASES;
}

/* The bytes at that address; NULL: they were not copied. */
static const uint8_t *bytes_at(const struct whole_copy *c, uint64_t address)
{
	const uint64_t at = address - c->sp;

	return address > c->sp && c->len >= WHOLE_BASE_BYTES && at <= c->len - WHOLE_BASE_BYTES
		   ? c->stack + at
		   : NULL;
}

/* The base, if these bytes have it; else NULL. */
static const struct whole_base *find(const struct whole_bases *b, const struct whole_copy *c)
{
	const struct whole_base *base = &b->of[slot_of(c->tid)];
	const uint8_t *bytes = NULL;

	if (base->address && base->tid == c->tid)
		bytes = bytes_at(c, base->address);
	return bytes && memcmp(bytes, base->bytes, sizeof(base->bytes)) == 0 ? base : NULL;
}

void whole_bases_add(struct whole_bases *b, const struct whole_copy *c, uint64_t address)
{
	const uint8_t *bytes = bytes_at(c, address);
	const struct whole_base *known = find(b, c);
	struct whole_base *base = &b->of[slot_of(c->tid)];

	if (!bytes || (known && known->address > address) ||
	    (base->tid == c->tid && base->is_refused))
		return;
	base->tid = c->tid;
	base->is_refused = false;
	base->address = address;
	memcpy(base->bytes, bytes, sizeof(base->bytes));
}

void whole_bases_refuse(struct whole_bases *b, uint32_t tid)
{
	struct whole_base *base = &b->of[slot_of(tid)];

	if (base->tid != tid)
		return;
	base->is_refused = true;
	base->address = 0;
}

size_t whole_bases_needed(const struct whole_bases *b, const struct whole_copy *c)
{
	const struct whole_base *base = find(b, c);

	return base ? (size_t)(base->address - c->sp) + WHOLE_BASE_BYTES : c->len;
}
