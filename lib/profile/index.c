/*
 * An open hash table of numbers, which only grows. Must not know what they are of.
 */
#include "base/mem.h"
#include "profile/processes_internal.h"

#include <errno.h>
#include <string.h>

enum { MAX_PROBES = 64, FIRST_ROOM = 256 };

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

uint32_t profile_hash(uint32_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = mix(hash, len), word = 0;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = mix(h, word);
	}
	word = 0;
	memcpy(&word, p, len);
	return (uint32_t)mix(h, word);
}

uint32_t profile_index_find(const struct profile_index *ix, uint32_t hash, profile_same_fn *same,
			    const void *key, const void *arg)
{
	for (size_t i = 0; i < MAX_PROBES && i < ix->room; i++) {
		const struct profile_index_slot *s = &ix->slots[(hash + i) & (ix->room - 1)];

		if (!s->number)
			break;
		if (s->hash == hash && same(key, arg, s->number - 1))
			return s->number - 1;
	}
	return PROFILE_NONE;
}

static void put(struct profile_index *ix, struct profile_index_slot slot)
{
	for (size_t i = 0; i < MAX_PROBES; i++) {
		struct profile_index_slot *s = &ix->slots[(slot.hash + i) & (ix->room - 1)];

		if (s->number)
			continue;
		*s = slot;
		return;
	}
}

static int widen(struct profile_index *ix)
{
	struct profile_index wide = {.nr = ix->nr, .room = ix->room ? 2 * ix->room : FIRST_ROOM};

	wide.slots = mem_calloc(wide.room, sizeof(*wide.slots));
	if (!wide.slots)
		return -ENOMEM;
	for (size_t i = 0; i < ix->room; i++)
		if (ix->slots[i].number)
			put(&wide, ix->slots[i]);
	mem_free(ix->slots);
	*ix = wide;
	return 0;
}

int profile_index_add(struct profile_index *ix, uint32_t hash, uint32_t number)
{
	int rc = 2 * ix->nr >= ix->room ? widen(ix) : 0;

	if (rc)
		return rc;
	put(ix, (struct profile_index_slot){.hash = hash, .number = number + 1});
	ix->nr++;
	return 0;
}

void profile_index_fini(struct profile_index *ix)
{
	mem_free(ix->slots);
	*ix = (struct profile_index){0};
}
