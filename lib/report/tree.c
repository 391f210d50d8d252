/*
 * Nodes in a list; a child is found by a hash of its parent and function.
 */
#include "report/tree.h"

#include "base/dict.h"
#include "base/mem.h"
#include "report/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct report_tree {
	struct report_sink sink;
	bool is_inverted;
	struct dict nodes; /* struct report_node; the key is all up to the parent */
	uint32_t root;     /* the first root */
};

static struct report_node *at(const struct report_tree *t, uint32_t place)
{
	return dict_at(&t->nodes, place);
}

/* Finds or adds the node; REPORT_NO_NODE: no memory. */
static uint32_t get(struct report_tree *t, uint32_t parent, const struct report_entry *e,
		    const struct report_function *function)
{
	const struct report_node key = {.function = function,
					.event = e->key.event,
					.session = e->key.session,
					.parent = parent};
	size_t nr = t->nodes.nr;
	uint32_t place = dict_add(&t->nodes, &key), *first;

	if (place == DICT_NONE || t->nodes.nr == nr)
		return place;
	first = parent == REPORT_NO_NODE ? &t->root : &at(t, parent)->first_child;
	at(t, place)->first_child = REPORT_NO_NODE;
	at(t, place)->next = *first;
	return *first = place;
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report_tree *t = arg;
	uint32_t place = get(t, REPORT_NO_NODE, e, NULL);

	for (size_t i = 0; i < e->nr_frames && place != REPORT_NO_NODE; i++) {
		size_t frame = t->is_inverted ? i : e->nr_frames - 1 - i;

		report_weight_add(&at(t, place)->total, &e->weight);
		place = get(t, place, e, e->frames[frame].function);
	}
	if (place == REPORT_NO_NODE)
		return -ENOMEM;
	report_weight_add(&at(t, place)->total, &e->weight);
	report_weight_add(&at(t, place)->self, &e->weight);
	return 0;
}

struct report_tree *report_tree_new(bool is_inverted, unsigned parts)
{
	struct report_tree *t = mem_zalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->sink =
	    (struct report_sink){.parts = parts | REPORT_BY_STACK, .entry = add_entry, .arg = t};
	dict_init(&t->nodes, sizeof(struct report_node), DICT_KEY(struct report_node, parent),
		  DICT_MAX);
	t->is_inverted = is_inverted;
	t->root = REPORT_NO_NODE;
	return t;
}

void report_tree_free(struct report_tree *t)
{
	if (!t)
		return;
	dict_fini(&t->nodes);
	mem_free(t);
}

const struct report_sink *report_tree_sink(struct report_tree *t)
{
	return &t->sink;
}

static bool is_before(const struct report_node *a, const struct report_node *b)
{
	if (!a->function || !b->function)
		return a->session != b->session ? a->session < b->session : a->event < b->event;
	if (a->total.weight != b->total.weight)
		return a->total.weight > b->total.weight;
	return report_function_compare(a->function, b->function) < 0;
}

/* Merges two sorted lists. */
static uint32_t merge(struct report_tree *t, uint32_t a, uint32_t b)
{
	uint32_t first = REPORT_NO_NODE, *end = &first;

	while (a != REPORT_NO_NODE && b != REPORT_NO_NODE) {
		uint32_t *from = is_before(at(t, b), at(t, a)) ? &b : &a;

		*end = *from;
		end = &at(t, *from)->next;
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

		first = at(t, one)->next;
		at(t, one)->next = REPORT_NO_NODE;
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
	for (uint32_t i = 0; i < t->nodes.nr; i++)
		at(t, i)->first_child = sort_siblings(t, at(t, i)->first_child);
	t->root = sort_siblings(t, t->root);
}

const struct report_node *report_tree_node(const struct report_tree *t, uint32_t place)
{
	return at(t, place);
}

uint32_t report_tree_root(const struct report_tree *t)
{
	return t->root;
}

size_t report_tree_nr(const struct report_tree *t)
{
	return t->nodes.nr;
}
