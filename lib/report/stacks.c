/*
 * Nodes are in chunks that never move, so that they can be read while others are added; a growing
 * open-addressing table indexes them. Must not depend on the meaning of numbers.
 */
#include "report/stacks.h"

#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>

enum {
	CHUNK_NODES = 1 << 14,
	MAX_CHUNKS = REPORT_MAX_STACKS / CHUNK_NODES,
	FIRST_SLOTS = 1 << 12,
};

struct report_stacks {
	pthread_mutex_t lock;
	struct report_stack_node *chunk[MAX_CHUNKS]; /* owned */
	uint32_t nr;
	uint32_t *slot; /* owned; nr_slots numbers, 0: free */
	size_t nr_slots;
	bool is_full;
};

struct report_stacks *report_stacks_new(void)
{
	struct report_stacks *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	s->nr_slots = FIRST_SLOTS;
	s->slot = mem_calloc(s->nr_slots, sizeof(*s->slot));
	s->chunk[0] = mem_calloc(CHUNK_NODES, sizeof(*s->chunk[0]));
	s->nr = 1;
	if (s->slot && s->chunk[0])
		return s;
	report_stacks_free(s);
	return NULL;
}

void report_stacks_free(struct report_stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < MAX_CHUNKS; i++)
		mem_free(s->chunk[i]);
	mem_free(s->slot);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}

static struct report_stack_node *at(const struct report_stacks *s, uint32_t number)
{
	return &s->chunk[number / CHUNK_NODES][number % CHUNK_NODES];
}

static uint64_t hash_of(uint32_t parent, const struct report_frame *f)
{
	uint64_t h = hash_mix(parent, (uintptr_t)f->function);

	h = hash_mix(h, (uintptr_t)f->file ^ (uint64_t)f->line << 40);
	return hash_mix(h, (uintptr_t)f->object ^ f->address);
}

static bool is_node(const struct report_stack_node *n, uint32_t parent,
		    const struct report_frame *f)
{
	return n->parent == parent && report_frame_is_same(&n->frame, f);
}

/* The slot of that node, or the free one where it belongs. */
static uint32_t *find(const struct report_stacks *s, uint32_t parent, const struct report_frame *f)
{
	size_t i = hash_of(parent, f) & (s->nr_slots - 1);

	while (s->slot[i] && !is_node(at(s, s->slot[i]), parent, f))
		i = (i + 1) & (s->nr_slots - 1);
	return &s->slot[i];
}

static int grow(struct report_stacks *s)
{
	uint32_t *old = s->slot, *slot = mem_calloc(2 * s->nr_slots, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	s->slot = slot;
	s->nr_slots *= 2;
	for (uint32_t n = 1; n < s->nr; n++)
		*find(s, at(s, n)->parent, &at(s, n)->frame) = n;
	mem_free(old);
	return 0;
}

/* Makes room for one more. */
static int make_room(struct report_stacks *s)
{
	struct report_stack_node **chunk = &s->chunk[s->nr / CHUNK_NODES];

	if (s->nr == REPORT_MAX_STACKS)
		return -ENOSPC;
	if (!*chunk)
		*chunk = mem_calloc(CHUNK_NODES, sizeof(**chunk));
	if (!*chunk)
		return -ENOMEM;
	return 2 * (size_t)s->nr >= s->nr_slots ? grow(s) : 0;
}

/* *number: the caller's stack; becomes the frame's. 0, -ENOMEM, -ENOSPC. */
static int add(struct report_stacks *s, const struct report_frame *f, uint32_t *number)
{
	uint32_t parent = *number, *slot = find(s, parent, f);

	if (!*slot) {
		int rc = make_room(s);

		if (rc)
			return rc;
		slot = find(s, parent, f);
		*at(s, s->nr) = (struct report_stack_node){*f, parent, at(s, parent)->depth + 1};
		*slot = s->nr++;
	}
	*number = *slot;
	return 0;
}

int report_stacks_add(struct report_stacks *s, const struct report_frame *frames, size_t nr,
		      uint32_t *number)
{
	uint32_t at_number = REPORT_NO_STACK;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	while (nr && rc == 0)
		rc = add(s, &frames[--nr], &at_number);
	if (rc == -ENOSPC) {
		s->is_full = true;
		rc = 0;
	}
	pthread_mutex_unlock(&s->lock);
	if (rc == 0)
		*number = at_number;
	return rc;
}

const struct report_stack_node *report_stacks_at(const struct report_stacks *s, uint32_t number)
{
	return at(s, number);
}

size_t report_stacks_nr(const struct report_stacks *s)
{
	return s->nr;
}

bool report_stacks_is_full(const struct report_stacks *s)
{
	return s->is_full;
}
