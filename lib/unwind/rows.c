/*
 * Open addressing with linear probing, at most half full.
 */
#include "unwind/rows.h"

#include "base/mem.h"

#include <string.h>

enum { MIN_SLOTS = 1024 };

struct unwind_slot {
	uint64_t address;
	uint32_t object;
	uint32_t place; /* index of the row + 1; 0: free */
};

void unwind_rows_init(struct unwind_rows *r)
{
	*r = (struct unwind_rows){0};
}

void unwind_rows_fini(struct unwind_rows *r)
{
	mem_free(r->slot);
	mem_free(r->row);
	unwind_rows_init(r);
}

/* The slot of the key, or the free slot for it. */
static struct unwind_slot *probe(struct unwind_slot *slot, size_t nr, uint32_t object,
				 uint64_t address)
{
	uint64_t hash = (address ^ (uint64_t)object << 40) * 0x9e3779b97f4a7c15u;
	size_t i = (hash >> 32) & (nr - 1);

	while (slot[i].place && (slot[i].address != address || slot[i].object != object))
		i = (i + 1) & (nr - 1);
	return &slot[i];
}

const struct cfi_row *unwind_rows_get(const struct unwind_rows *r, uint32_t object,
				      uint64_t address)
{
	const struct unwind_slot *s;

	if (!r->nr)
		return NULL;
	s = probe(r->slot, r->nr_slots, object, address);
	return s->place ? &r->row[s->place - 1] : NULL;
}

static bool grow_slots(struct unwind_rows *r)
{
	size_t nr = r->nr_slots ? 2 * r->nr_slots : MIN_SLOTS;
	struct unwind_slot *slot = mem_calloc(nr, sizeof(*slot));

	if (!slot)
		return false;
	for (size_t i = 0; i < r->nr_slots; i++)
		if (r->slot[i].place)
			*probe(slot, nr, r->slot[i].object, r->slot[i].address) = r->slot[i];
	mem_free(r->slot);
	r->slot = slot;
	r->nr_slots = nr;
	return true;
}

const struct cfi_row *unwind_rows_add(struct unwind_rows *r, uint32_t object, uint64_t address,
				      const struct cfi_row *row)
{
	struct cfi_row *added;

	if (r->nr == UNWIND_MAX_ROWS) {
		memset(r->slot, 0, r->nr_slots * sizeof(*r->slot));
		r->nr = 0;
	}
	if (2 * (r->nr + 1) > r->nr_slots && !grow_slots(r))
		return NULL;
	added = MEM_ADD(r->row, r->nr, r->room);
	if (!added)
		return NULL;
	*added = *row;
	*probe(r->slot, r->nr_slots, object, address) =
	    (struct unwind_slot){.address = address, .object = object, .place = (uint32_t)r->nr};
	return added;
}
