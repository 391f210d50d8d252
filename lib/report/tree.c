/*
 * Nodes in a list; a child is found by a hash of its parent and function.
 */
#include "report/tree.h"

#include "base/index.h"
#include "base/mem.h"
#include "report/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct report_tree {
	struct report_sink sink;
	bool is_inverted;
	struct index index;
	struct report_node *nodes;
	size_t nr, room;
	uint32_t root; /* the first of them */
};

/* What tells a node from its siblings. */
static uint64_t what_of(const struct report_node *n)
{
	return n->function ? n->function->number : (uint64_t)n->session << 32 | n->event;
}

/* What a node is found by. */
struct key {
	uint64_t what;
	uint32_t parent, zero;
};

static bool is_node(const void *arg, const void *key, uint32_t number)
{
	const struct report_tree *t = arg;
	const struct key *k = key;
	const struct report_node *n = &t->nodes[number];

	return n->parent == k->parent && what_of(n) == k->what;
}

static uint32_t add_node(struct report_tree *t, uint32_t hash, const struct report_node *node)
{
	struct report_node *nodes = mem_grow(t->nodes, t->nr, &t->room, sizeof(*nodes));
	uint32_t *first;

	if (!nodes)
		return REPORT_NO_NODE;
	t->nodes = nodes;
	if (index_add(&t->index, hash, (uint32_t)t->nr))
		return REPORT_NO_NODE;
	nodes[t->nr] = *node;
	first = node->parent == REPORT_NO_NODE ? &t->root : &nodes[node->parent].first_child;
	nodes[t->nr].next = *first;
	*first = (uint32_t)t->nr;
	return (uint32_t)t->nr++;
}

/* The node, made if it is not there; REPORT_NO_NODE without memory. */
static uint32_t get(struct report_tree *t, uint32_t parent, const struct report_entry *e,
		    const struct report_function *function)
{
	const struct report_node node = {.function = function,
					 .parent = parent,
					 .first_child = REPORT_NO_NODE,
					 .next = REPORT_NO_NODE,
					 .event = e->key.event,
					 .session = e->key.session};
	const struct key key = {.what = what_of(&node), .parent = parent};
	uint32_t hash = index_hash(0, &key, sizeof(key));
	uint32_t place = index_find(&t->index, hash, is_node, t, &key);

	return place != INDEX_NONE ? place : add_node(t, hash, &node);
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report_tree *t = arg;
	uint32_t at = get(t, REPORT_NO_NODE, e, NULL);

	for (size_t i = 0; i < e->nr_frames && at != REPORT_NO_NODE; i++) {
		size_t frame = t->is_inverted ? i : e->nr_frames - 1 - i;

		report_weight_add(&t->nodes[at].total, &e->weight);
		at = get(t, at, e, e->frames[frame].function);
	}
	if (at == REPORT_NO_NODE)
		return -ENOMEM;
	report_weight_add(&t->nodes[at].total, &e->weight);
	report_weight_add(&t->nodes[at].self, &e->weight);
	return 0;
}

struct report_tree *report_tree_new(bool is_inverted, unsigned parts)
{
	struct report_tree *t = mem_zalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->sink =
	    (struct report_sink){.parts = parts | REPORT_BY_STACK, .entry = add_entry, .arg = t};
	t->is_inverted = is_inverted;
	t->root = REPORT_NO_NODE;
	return t;
}

void report_tree_free(struct report_tree *t)
{
	if (!t)
		return;
	index_fini(&t->index);
	mem_free(t->nodes);
	mem_free(t);
}

const struct report_sink *report_tree_sink(struct report_tree *t)
{
	return &t->sink;
}

static bool is_before(const struct report_node *a, const struct report_node *b)
{
	if (!a->function || !b->function)
		return what_of(a) < what_of(b);
	if (a->total.weight != b->total.weight)
		return a->total.weight > b->total.weight;
	return report_function_compare(a->function, b->function) < 0;
}

/* Two sorted lists into one. */
static uint32_t merge(struct report_tree *t, uint32_t a, uint32_t b)
{
	uint32_t first = REPORT_NO_NODE, *end = &first;

	while (a != REPORT_NO_NODE && b != REPORT_NO_NODE) {
		uint32_t *from = is_before(&t->nodes[b], &t->nodes[a]) ? &b : &a;

		*end = *from;
		end = &t->nodes[*from].next;
		*from = *end;
	}
	*end = a != REPORT_NO_NODE ? a : b;
	return first;
}

/* A merge sort of the list, from the bottom up: bin i holds 2^i nodes. */
static uint32_t sort_siblings(struct report_tree *t, uint32_t first)
{
	uint32_t bin[32], list = REPORT_NO_NODE;
	size_t i;

	for (i = 0; i < 32; i++)
		bin[i] = REPORT_NO_NODE;
	while (first != REPORT_NO_NODE) {
		uint32_t one = first;

		first = t->nodes[one].next;
		t->nodes[one].next = REPORT_NO_NODE;
		for (i = 0; i < 31 && bin[i] != REPORT_NO_NODE; i++) {
			one = merge(t, bin[i], one);
			bin[i] = REPORT_NO_NODE;
		}
		bin[i] = one;
	}
	for (i = 0; i < 32; i++)
		list = merge(t, bin[i], list);
	return list;
}

void report_tree_finish(struct report_tree *t)
{
	for (size_t i = 0; i < t->nr; i++)
		t->nodes[i].first_child = sort_siblings(t, t->nodes[i].first_child);
	t->root = sort_siblings(t, t->root);
}

const struct report_node *report_tree_node(const struct report_tree *t, uint32_t place)
{
	return &t->nodes[place];
}

uint32_t report_tree_root(const struct report_tree *t)
{
	return t->root;
}

size_t report_tree_nr(const struct report_tree *t)
{
	return t->nr;
}
