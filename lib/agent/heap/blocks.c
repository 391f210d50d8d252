/*
 * Tracked blocks: extendible hashing in each shard, in the recorder's memory.
 */
#include "agent/heap/agent.h"

#include <string.h>
#include <sys/mman.h>

enum {
	MOST = HEAP_BUCKET_BLOCKS - 2, /* of a bucket: it always has a free place */
	HOME_BITS = 16,
	/* Directories of up to this are parts of a bucket's bytes. */
	PART_BYTES = HEAP_BUCKET_BYTES,
	NUMBER = (1 << HEAP_STACK_BITS) - 1, /* of a block's word for the stack; above: born */
};
_Static_assert(UINT64_C(1) << (AGENT_BORN_BITS - 32 + HEAP_STACK_BITS) <= HEAP_FILLED,
	       "when a block was allocated has room");

static uint32_t lock;
static uint64_t part, part_end; /* of bytes for small directories */
/* When blocks were allocated, the low 32 bits, as blocks lie in buckets: memory of our own. NULL:
 * it is not wanted. */
static uint32_t *born;
static size_t born_bytes;

void agent_blocks_init(void)
{
	const struct heap_header *h = agent.shared;
	const size_t nr = (size_t)((h->mapped - h->arena) / HEAP_BUCKET_BYTES);

	lock = 0;
	part = part_end = 0;
	if (born)
		munmap(born, born_bytes);
	born_bytes = nr * HEAP_BUCKET_BLOCKS * sizeof(*born);
	born = NULL;
	if (!agent.has_lives)
		return;
	/* shared: a limit of the program's data (RLIMIT_DATA) is not for it */
	born = mmap(NULL, born_bytes, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | 0x4000 /* MAP_NORESERVE */, -1, 0);
	if (born == MAP_FAILED)
		born = NULL;
	else
		(void)madvise(born, born_bytes, 16 /* MADV_DONTDUMP */);
}

/* So many bytes of the arena, at least those that are used. Of our own memory whole pages go. */
void agent_blocks_limit(uint64_t bytes)
{
	struct heap_header *h = agent.shared;
	size_t kept;

	agent_lock(&lock);
	bytes = bytes > h->arena_used ? bytes : h->arena_used;
	if (bytes < h->mapped - h->arena)
		h->mapped = h->arena + bytes;
	kept = (size_t)((h->mapped - h->arena) / HEAP_BUCKET_BYTES) * HEAP_BUCKET_BLOCKS *
	       sizeof(*born);
	kept = (kept + agent.page - 1) & ~(size_t)(agent.page - 1);
	if (born && kept < born_bytes) {
		munmap((char *)born + kept, born_bytes - kept);
		born_bytes = kept;
	}
	agent_unlock(&lock);
}

static uint64_t take_bytes(uint64_t bytes)
{
	struct heap_header *h = agent.shared;
	uint64_t at;

	bytes = (bytes + HEAP_BUCKET_BYTES - 1) & ~(uint64_t)(HEAP_BUCKET_BYTES - 1);
	if (h->arena > h->mapped || bytes > h->mapped - h->arena - h->arena_used)
		return 0;
	at = h->arena + h->arena_used;
	__atomic_store_n(&h->arena_used, h->arena_used + bytes, __ATOMIC_RELEASE);
	return at;
}

uint64_t agent_blocks_take(uint64_t bytes)
{
	uint64_t at;

	agent_lock(&lock);
	if (bytes >= PART_BYTES) {
		at = take_bytes(bytes);
	} else {
		if (part_end - part < bytes) {
			part = take_bytes(PART_BYTES);
			part_end = part ? part + PART_BYTES : 0;
		}
		at = part;
		part += at ? bytes : 0;
	}
	agent_unlock(&lock);
	return at;
}

static struct heap_bucket *bucket_at(uint32_t number)
{
	return agent_at(agent.shared->arena + (uint64_t)(number - 1) * HEAP_BUCKET_BYTES);
}

static uint32_t new_bucket(uint32_t depth)
{
	uint64_t at = agent_blocks_take(HEAP_BUCKET_BYTES);
	uint32_t number = at ? 1 + (uint32_t)((at - agent.shared->arena) / HEAP_BUCKET_BYTES) : 0;

	if (number)
		bucket_at(number)->depth = depth;
	return number;
}

static uint32_t *directory(struct heap_shard *s)
{
	return s->depth ? agent_at(s->directory) : &s->bucket;
}

static uint32_t first_bits(uint32_t key, uint32_t nr)
{
	return nr ? key >> (HEAP_KEY_BITS - nr) : 0;
}

/* By the bits that blocks of a unit have in common, and those that tell them apart. */
static uint32_t home(uint32_t key)
{
	uint32_t x = (key + (key >> 16) * 0x9e37) & ((1 << HOME_BITS) - 1);

	return x * HEAP_BUCKET_BLOCKS >> HOME_BITS;
}

static uint32_t after(uint32_t place)
{
	return place + 1 == HEAP_BUCKET_BLOCKS ? 0 : place + 1;
}

/* The key's place, or the free one where it belongs. */
static struct heap_block *find(struct heap_bucket *b, uint32_t key)
{
	uint32_t i = home(key);

	while (b->block[i].stack && b->block[i].key != key)
		i = after(i);
	return &b->block[i];
}

/* The times at which the blocks of a bucket were allocated. */
static uint32_t *born_of(const struct heap_bucket *b)
{
	const struct heap_bucket *first = agent_at(agent.shared->arena);

	return born + (size_t)(b - first) * HEAP_BUCKET_BLOCKS;
}

static void put(struct heap_bucket *b, struct heap_block *place, struct heap_block block,
		uint32_t low)
{
	*place = block;
	if (born)
		born_of(b)[place - b->block] = low;
}

static uint32_t low_of(const struct heap_bucket *b, size_t i)
{
	return born ? born_of(b)[i] : 0;
}

static struct agent_block read_block(const struct heap_bucket *b, const struct heap_block *place)
{
	struct agent_block block = {.stack = place->stack & NUMBER,
				    .size = place->size,
				    .is_filled = place->stack & HEAP_FILLED};

	if (born && block.stack)
		block.born = (uint64_t)((place->stack & ~HEAP_FILLED) >> HEAP_STACK_BITS) << 32 |
			     low_of(b, (size_t)(place - b->block));
	return block;
}

static bool double_directory(struct heap_shard *s)
{
	uint32_t nr = 1u << s->depth, *to;
	const uint32_t *from = directory(s);
	uint64_t at = s->depth < HEAP_MAX_DEPTH ? agent_blocks_take(2ull * nr * sizeof(*to)) : 0;

	if (!at)
		return false;
	to = agent_at(at);
	for (uint32_t i = 0; i < 2 * nr; i++)
		to[i] = from[i / 2];
	s->directory = at;
	s->depth++;
	return true;
}

/* Moves the blocks with the next bit to a bucket of their own. */
static bool divide(struct heap_shard *s, uint32_t key)
{
	uint32_t old = directory(s)[first_bits(key, s->depth)], new;
	struct heap_bucket *from = bucket_at(old), *to, copy;
	uint32_t depth = from->depth + 1, first, nr, low[HEAP_BUCKET_BLOCKS] = {0};

	if (depth > s->depth && !double_directory(s))
		return false;
	new = new_bucket(depth);
	if (!new)
		return false;
	to = bucket_at(new);
	copy = *from;
	if (born)
		memcpy(low, born_of(from), sizeof(low));
	memset(from->block, 0, sizeof(from->block));
	from->nr = 0;
	from->depth = depth;
	for (uint32_t i = 0; i < HEAP_BUCKET_BLOCKS; i++) {
		const struct heap_block *block = &copy.block[i];
		struct heap_bucket *b = first_bits(block->key, depth) & 1 ? to : from;

		if (!block->stack)
			continue;
		put(b, find(b, block->key), *block, low[i]);
		b->nr++;
	}
	nr = 1u << (s->depth - depth);
	first = (first_bits(key, depth) | 1) * nr;
	for (uint32_t i = first; i < first + nr; i++)
		directory(s)[i] = new;
	return true;
}

/* A bucket for a key that is not in it, with room. NULL: there is none. */
static struct heap_bucket *make_room(struct heap_shard *s, uint32_t key)
{
	struct heap_bucket *b;

	if (!s->bucket && !s->depth)
		s->bucket = new_bucket(0);
	if (!s->bucket && !s->depth)
		return NULL;
	while (b = bucket_at(directory(s)[first_bits(key, s->depth)]), b->nr >= MOST) {
		bool is_divided;

		__atomic_store_n(&s->changes, s->changes + 1, __ATOMIC_RELEASE);
		is_divided = divide(s, key);
		__atomic_store_n(&s->changes, s->changes + 1, __ATOMIC_RELEASE);
		if (!is_divided)
			return NULL;
	}
	return b;
}

static struct heap_shard *shard_of(uint64_t address, uint32_t *key)
{
	struct heap_shard *shards = agent_at(agent.shared->shards);
	uint32_t number;

	return heap_place(address, &number, key) ? &shards[number] : NULL;
}

bool agent_blocks_add(uint64_t address, struct agent_block block, struct agent_block *old)
{
	struct heap_bucket *b;
	struct heap_block *place;
	uint32_t key;
	struct heap_shard *s = shard_of(address, &key);

	*old = (struct agent_block){0};
	if (!s)
		return false;
	agent_lock(&s->lock);
	b = make_room(s, key);
	if (b) {
		place = find(b, key);
		*old = read_block(b, place);
		b->nr += !place->stack;
		s->nr += !place->stack;
		put(b, place,
		    (struct heap_block){.key = key,
					.stack = block.stack |
						 (uint32_t)(block.born >> 32) << HEAP_STACK_BITS |
						 (block.is_filled ? HEAP_FILLED : 0),
					.size = block.size},
		    (uint32_t)block.born);
	}
	agent_unlock(&s->lock);
	return b;
}

/* Moves later blocks back, as far as the gap lies between their home and them. */
static void close_gap(struct heap_bucket *b, uint32_t gap)
{
	for (uint32_t i = after(gap); b->block[i].stack; i = after(i)) {
		uint32_t h = home(b->block[i].key);

		if (gap <= i ? gap < h && h <= i : gap < h || h <= i)
			continue;
		put(b, &b->block[gap], b->block[i], low_of(b, i));
		gap = i;
	}
	b->block[gap] = (struct heap_block){0};
}

struct agent_block agent_blocks_remove(uint64_t address)
{
	struct agent_block block = {0};
	struct heap_block *place;
	struct heap_bucket *b;
	uint32_t key;
	struct heap_shard *s = shard_of(address, &key);

	if (!s)
		return block;
	agent_lock(&s->lock);
	if (s->bucket || s->depth) {
		b = bucket_at(directory(s)[first_bits(key, s->depth)]);
		place = find(b, key);
		block = read_block(b, place);
		if (block.stack) {
			b->nr--;
			s->nr--;
			close_gap(b, (uint32_t)(place - b->block));
		}
	}
	agent_unlock(&s->lock);
	return block;
}
