/*
 * Nodes in a list; a child is found by a hash of its parent and function.
 */
#include "report/tree.h"

#include "base/dict.h"
#include "base/mem.h"
#include "base/order.h"
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
	t->sink = (struct report_sink){
	    .parts = parts | REPORT_BY_STACK, .takes_maxima = true, .entry = add_entry, .arg = t};
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

static int compare(const void *x, const void *y, void *tree)
{
	const struct report_node *a = at(tree, *(const uint32_t *)x);
	const struct report_node *b = at(tree, *(const uint32_t *)y);

	if (!a->function)
		return order_u64(a->session, b->session) ?: order_u64(a->event, b->event);
	return order_u64(b->total.weight, a->total.weight)
		   ?: report_function_compare(a->function, b->function);
}

/* Sorts the list at *first. scratch: room for all nodes. */
static void sort(struct report_tree *t, uint32_t *first, uint32_t *scratch)
{
	size_t nr = 0;

	for (uint32_t i = *first; i != REPORT_NO_NODE; i = at(t, i)->next)
		scratch[nr++] = i;
	qsort_r(scratch, nr, sizeof(*scratch), compare, t);
	for (size_t i = 0; i < nr; i++) {
		*first = scratch[i];
		first = &at(t, scratch[i])->next;
	}
	*first = REPORT_NO_NODE;
}

int report_tree_finish(struct report_tree *t)
{
	MEM_AUTO uint32_t *scratch = mem_calloc(t->nodes.nr + 1, sizeof(*scratch));

	if (!scratch)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nodes.nr; i++)
		sort(t, &at(t, i)->first_child, scratch);
	sort(t, &t->root, scratch);
	return 0;
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
