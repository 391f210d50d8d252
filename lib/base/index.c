/*
 * Slots are tried one after the other, and half of them are free: so few are tried, but where
 * somebody made it otherwise, who gets as many as that and no more. Must not know the things.
 */
#include "base/index.h"

#include "base/mem.h"

#define XXH_INLINE_ALL
#include <errno.h>
#include <xxhash.h>

enum { FIRST_ROOM = 256, MAX_PROBES = 64 };

struct index_slot {
	uint32_t hash, number; /* + 1; 0: free */
};

uint32_t index_hash(uint32_t seed, const void *data, size_t len)
{
	return (uint32_t)XXH3_64bits_withSeed(data, len, seed);
}

uint32_t index_find(const struct index *x, uint32_t hash, index_same_fn *same, const void *arg,
		    const void *key)
{
	for (size_t i = 0; i < MAX_PROBES && i < x->room; i++) {
		const struct index_slot *s = &x->slots[(hash + i) & (x->room - 1)];

		if (!s->number)
			break;
		if (s->hash == hash && same(arg, key, s->number - 1))
			return s->number - 1;
	}
	return INDEX_NONE;
}

static void put(struct index *x, struct index_slot slot)
{
	x->nr++;
	for (size_t i = 0; i < MAX_PROBES; i++) {
		struct index_slot *s = &x->slots[(slot.hash + i) & (x->room - 1)];

		if (s->number)
			continue;
		*s = slot;
		return;
	}
}

static int widen(struct index *x)
{
	struct index wide = {.room = x->room ? 2 * x->room : FIRST_ROOM};

	wide.slots = x->nr < INDEX_MAX ? mem_calloc(wide.room, sizeof(*wide.slots)) : NULL;
	if (!wide.slots)
		return -ENOMEM;
	for (size_t i = 0; i < x->room; i++)
		if (x->slots[i].number)
			put(&wide, x->slots[i]);
	mem_free(x->slots);
	wide.nr = x->nr;
	*x = wide;
	return 0;
}

int index_add(struct index *x, uint32_t hash, uint32_t number)
{
	int rc = 2 * (x->nr + 1) > x->room ? widen(x) : 0;

	if (rc == 0)
		put(x, (struct index_slot){hash, number + 1});
	return rc;
}

void index_fini(struct index *x)
{
	mem_free(x->slots);
	*x = (struct index){0};
}
