/*
 * Nodes and entries are lists with open-addressing indexes; most lookups of an entry hit the last
 * one of its node.
 */
#include "report/fold.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

enum {
	NR_NODES = REPORT_FOLD_NODES,
	NR_ENTRIES = 1 << 15,
	NR_NODE_SLOTS = 2 * NR_NODES,
	NR_ENTRY_SLOTS = 2 * NR_ENTRIES,
};
_Static_assert((int)NR_NODES > (int)REPORT_MAX_FRAMES, "an empty tree takes any stack");

struct node {
	struct report_frame frame;
	uint32_t parent, depth;
	uint32_t last;       /* index of its last entry + 1; 0: none */
	uint32_t last_child; /* the last child found; 0: none */
	uint32_t slot;       /* the one of node_slots that names it */
};

struct entry {
	struct report_key key;
	uint32_t node, slot;
	struct report_weight weight;
};

struct report_fold {
	report_folded_fn *receive;
	void *arg;
	size_t nr_nodes, nr;
	uint32_t *node_slots, *entry_slots; /* index + 1; 0: free */
	struct node *nodes;
	struct entry *entries;
	struct report_frame frames[REPORT_MAX_FRAMES]; /* frames of the entry passed to receive */
};

/* Writes to what was used, and no more: a report of few samples does not touch the rest. */
static void clear(struct report_fold *f)
{
	for (size_t i = 1; i < f->nr_nodes; i++)
		f->node_slots[f->nodes[i].slot] = 0;
	for (size_t i = 0; i < f->nr; i++)
		f->entry_slots[f->entries[i].slot] = 0;
	f->nodes[REPORT_FOLD_ROOT] = (struct node){.parent = REPORT_FOLD_FULL};
	f->nr_nodes = 1;
	f->nr = 0;
}

struct report_fold *report_fold_new(report_folded_fn *receive, void *arg)
{
	struct report_fold *f = mem_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->receive = receive;
	f->arg = arg;
	f->node_slots = mem_calloc(NR_NODE_SLOTS, sizeof(*f->node_slots));
	f->entry_slots = mem_calloc(NR_ENTRY_SLOTS, sizeof(*f->entry_slots));
	f->nodes = mem_alloc(NR_NODES * sizeof(*f->nodes));
	f->entries = mem_alloc(NR_ENTRIES * sizeof(*f->entries));
	if (f->node_slots && f->entry_slots && f->nodes && f->entries) {
		clear(f);
		return f;
	}
	report_fold_free(f);
	return NULL;
}

void report_fold_free(struct report_fold *f)
{
	if (!f)
		return;
	mem_free(f->node_slots);
	mem_free(f->entry_slots);
	mem_free(f->nodes);
	mem_free(f->entries);
	mem_free(f);
}

static bool is_child(const struct node *n, uint32_t parent, const struct report_frame *frame)
{
	return n->parent == parent && report_frame_is_same(&n->frame, frame);
}

uint32_t report_fold_child(struct report_fold *f, uint32_t node, const struct report_frame *frame)
{
	uint32_t *last = &f->nodes[node].last_child;
	uint64_t hash;
	size_t i;

	if (*last && is_child(&f->nodes[*last], node, frame))
		return *last;
	hash = hash_mix(hash_mix(node, (uintptr_t)frame->function ^ frame->address << 16),
			(uintptr_t)frame->file ^ (uint64_t)frame->line << 40);
	for (i = hash % NR_NODE_SLOTS; f->node_slots[i]; i = (i + 1) % NR_NODE_SLOTS)
		if (is_child(&f->nodes[f->node_slots[i] - 1], node, frame))
			return *last = f->node_slots[i] - 1;
	if (f->nodes[node].depth == REPORT_MAX_FRAMES)
		return node;
	if (f->nr_nodes == NR_NODES)
		return REPORT_FOLD_FULL;
	*last = (uint32_t)f->nr_nodes++;
	f->nodes[*last] = (struct node){.frame = *frame,
					.parent = node,
					.depth = f->nodes[node].depth + 1,
					.slot = (uint32_t)i};
	f->node_slots[i] = *last + 1;
	return *last;
}

static bool is_same(const struct entry *e, uint32_t node, const struct report_key *key)
{
	return e->node == node && memcmp(&e->key, key, sizeof(*key)) == 0;
}

/* NULL: full. */
static struct entry *find_entry(struct report_fold *f, uint32_t node, const struct report_key *key)
{
	uint64_t words[sizeof(*key) / sizeof(uint64_t)];
	uint64_t hash = node;
	size_t i;

	_Static_assert(sizeof(words) == sizeof(*key), "a key is pairs of numbers");
	memcpy(words, key, sizeof(words));
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = hash_mix(hash, words[i]);
	for (i = hash % NR_ENTRY_SLOTS; f->entry_slots[i]; i = (i + 1) % NR_ENTRY_SLOTS)
		if (is_same(&f->entries[f->entry_slots[i] - 1], node, key))
			return &f->entries[f->entry_slots[i] - 1];
	if (f->nr == NR_ENTRIES)
		return NULL;
	f->entries[f->nr] = (struct entry){.key = *key, .node = node, .slot = (uint32_t)i};
	f->entry_slots[i] = (uint32_t)++f->nr;
	return &f->entries[f->nr - 1];
}

bool report_fold_count(struct report_fold *f, uint32_t node, const struct report_key *key,
		       const struct report_count *count)
{
	uint32_t last = f->nodes[node].last;
	struct entry *e = last ? &f->entries[last - 1] : NULL;

	if (!e || !is_same(e, node, key))
		e = find_entry(f, node, key);
	if (!e)
		return false;
	f->nodes[node].last = (uint32_t)(e - f->entries) + 1;
	report_weight_count(&e->weight, count);
	return true;
}

struct report_frame *report_fold_frames(struct report_fold *f, uint32_t node, size_t *nr)
{
	*nr = 0;
	for (; node != REPORT_FOLD_ROOT; node = f->nodes[node].parent)
		f->frames[(*nr)++] = f->nodes[node].frame;
	return f->frames;
}

int report_fold_empty(struct report_fold *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->nr && rc == 0; i++) {
		const struct entry *e = &f->entries[i];
		size_t nr;
		struct report_frame *frames = report_fold_frames(f, e->node, &nr);

		rc = f->receive(f->arg, &e->key, &e->weight, frames, nr);
	}
	clear(f);
	return rc;
}
