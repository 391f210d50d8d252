/*
 * Tracked blocks: a table for each shard, which grows by half when seven of eight places are taken.
 * Its tables lie in the recorder's memory; those that were outgrown are used again.
 */
#include "agent/heap/agent.h"

#include <string.h>

enum {
	FIRST_ROOM = 42, /* 504 bytes */
	NR_CLASSES = 48, /* of rooms: each one and a half of the one before */
};

/* Tables that were outgrown: each begins with the offset of the next. */
static uint64_t outgrown[NR_CLASSES];
static uint32_t lock;

void agent_blocks_init(void)
{
	memset(outgrown, 0, sizeof(outgrown));
	lock = 0;
}

static uint32_t next_room(uint32_t room)
{
	return room + room / 2;
}

static unsigned class_of(uint32_t room)
{
	unsigned class = 0;

	for (uint32_t r = FIRST_ROOM; r < room; r = next_room(r))
		class ++;
	return class;
}

static uint64_t table_bytes(uint32_t room)
{
	return ((uint64_t)room * sizeof(struct heap_block) + 15) & ~UINT64_C(15);
}

/* 0: no room. */
static uint64_t take_table(uint32_t room)
{
	struct heap_header *h = agent.shared;
	uint64_t *head, at = 0, bytes = table_bytes(room);
	unsigned class = class_of(room);

	if (class >= NR_CLASSES)
		return 0;
	agent_lock(&lock);
	head = &outgrown[class];
	if (*head) {
		at = *head;
		*head = *(uint64_t *)agent_at(at);
	} else if (h->mapped > h->arena && bytes <= h->mapped - h->arena - h->arena_used) {
		at = h->arena + h->arena_used;
		h->arena_used += bytes;
	}
	agent_unlock(&lock);
	if (at)
		memset(agent_at(at), 0, bytes);
	return at;
}

static void give_table(uint64_t at, uint32_t room)
{
	agent_lock(&lock);
	*(uint64_t *)agent_at(at) = outgrown[class_of(room)];
	outgrown[class_of(room)] = at;
	agent_unlock(&lock);
}

static uint32_t home(const struct heap_shard *s, uint32_t key)
{
	return (uint32_t)((uint64_t)key * s->room >> HEAP_KEY_BITS);
}

/* The key's place, or the free one where it belongs. There is always a free one. */
static struct heap_block *find(const struct heap_shard *s, uint32_t key)
{
	struct heap_block *b = agent_at(s->table);

	for (uint32_t i = home(s, key);; i = i + 1 == s->room ? 0 : i + 1)
		if (!b[i].stack || b[i].key == key)
			return &b[i];
}

static bool grow(struct heap_shard *s)
{
	struct heap_shard wide = {.room = s->room ? next_room(s->room) : FIRST_ROOM};
	const struct heap_block *old = s->table ? agent_at(s->table) : NULL;

	wide.table = take_table(wide.room);
	if (!wide.table)
		return s->nr + 1 < s->room;
	for (uint32_t i = 0; i < s->room; i++)
		if (old[i].stack)
			*find(&wide, old[i].key) = old[i];
	if (old)
		give_table(s->table, s->room);
	__atomic_store_n(&s->changes, s->changes + 1, __ATOMIC_RELEASE);
	s->table = wide.table;
	s->room = wide.room;
	__atomic_store_n(&s->changes, s->changes + 1, __ATOMIC_RELEASE);
	return true;
}

static struct heap_shard *shard_of(uint64_t address, uint32_t *key)
{
	struct heap_shard *shards = agent_at(agent.shared->shards);
	uint32_t number;

	return heap_place(address, &number, key) ? &shards[number] : NULL;
}

bool agent_blocks_add(uint64_t address, struct agent_block block, struct agent_block *old)
{
	struct heap_block *b;
	uint32_t key;
	struct heap_shard *s = shard_of(address, &key);
	bool has_room;

	*old = (struct agent_block){0};
	if (!s)
		return false;
	agent_lock(&s->lock);
	has_room = s->nr + 1 <= s->room - s->room / 8 || grow(s);
	if (has_room) {
		b = find(s, key);
		if (b->stack)
			*old = (struct agent_block){b->stack, b->size};
		else
			s->nr++;
		*b = (struct heap_block){.key = key, .stack = block.stack, .size = block.size};
	}
	agent_unlock(&s->lock);
	return has_room;
}

/* Moves later blocks back, as far as the gap lies between their home and them. */
static void close_gap(const struct heap_shard *s, uint32_t gap)
{
	struct heap_block *b = agent_at(s->table);

	for (uint32_t i = gap;;) {
		uint32_t h;

		i = i + 1 == s->room ? 0 : i + 1;
		if (!b[i].stack)
			break;
		h = home(s, b[i].key);
		if (gap <= i ? gap < h && h <= i : gap < h || h <= i)
			continue;
		b[gap] = b[i];
		gap = i;
	}
	b[gap] = (struct heap_block){0};
}

struct agent_block agent_blocks_remove(uint64_t address)
{
	struct agent_block block = {0};
	struct heap_block *b;
	uint32_t key;
	struct heap_shard *s = shard_of(address, &key);

	if (!s)
		return block;
	agent_lock(&s->lock);
	b = s->table ? find(s, key) : NULL;
	if (b && b->stack) {
		block = (struct agent_block){b->stack, b->size};
		s->nr--;
		close_gap(s, (uint32_t)(b - (struct heap_block *)agent_at(s->table)));
	}
	agent_unlock(&s->lock);
	return block;
}
