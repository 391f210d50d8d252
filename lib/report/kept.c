/*
 * Stacks are the nodes of a tree, from the outermost function down. What was counted at a node by a
 * thread on a CPU is an item. The last iterations have lists of their own, with a weight of items.
 */
#include "report/kept.h"

#include "base/dict.h"
#include "base/mem.h"
#include "report/functions.h"

#include <errno.h>
#include <string.h>

enum { MAX_FRAMES = 4096, NODES_PER_ITEM = 8, ROOT = UINT32_MAX };

/* The key is all of it. */
struct node {
	uint32_t caller; /* its node; ROOT */
	uint32_t function;
};

struct item {
	uint32_t event, cpu, pid, tid, thread, comm, node; /* the key */
	struct report_weight weight;
};

struct part {
	uint32_t item;
	struct report_weight weight;
};

struct last {
	uint32_t iteration; /* with parts */
	struct part *part;  /* owned */
	size_t nr, room;
};

struct report_kept {
	struct report_functions *functions;
	struct report_sink sink;
	size_t max;
	struct dict nodes, items;
	struct last last[REPORT_KEPT_ITERATIONS]; /* by iteration % REPORT_KEPT_ITERATIONS */
	uint64_t nr_cut;
};

/* DICT_NONE: no memory. */
static uint32_t add_node(struct report_kept *k, uint32_t caller, const struct report_frame *f)
{
	const struct node key = {caller, f->function->number};

	return dict_add(&k->nodes, &key);
}

static bool is_full(const struct report_kept *k)
{
	return k->items.nr >= k->max || k->nodes.nr >= k->max * NODES_PER_ITEM;
}

static uint32_t add_stack(struct report_kept *k, const struct report_entry *e, bool is_cut)
{
	uint32_t node = ROOT;

	for (size_t i = is_cut ? 1 : e->nr_frames; i > 0; i--) {
		node = add_node(k, node, &e->frames[i - 1]);
		if (node == DICT_NONE)
			return DICT_NONE;
	}
	return node;
}

static struct item *add_item(struct report_kept *k, const struct report_entry *e, uint32_t *number)
{
	const bool is_cut = is_full(k);
	struct item key = {.event = e->key.event,
			   .cpu = is_cut ? UINT32_MAX : e->key.cpu,
			   .pid = is_cut ? UINT32_MAX : e->key.pid,
			   .tid = is_cut ? UINT32_MAX : e->key.tid,
			   .thread = is_cut ? UINT32_MAX : e->key.thread,
			   .comm = e->key.comm,
			   .node = add_stack(k, e, is_cut)};

	if (key.node == DICT_NONE)
		return NULL;
	k->nr_cut += is_cut ? e->weight.samples : 0;
	*number = dict_add(&k->items, &key);
	return dict_at(&k->items, *number);
}

/* An iteration that is older than those that have lists is in the sums alone. */
static int add_part(struct report_kept *k, const struct report_entry *e, uint32_t item)
{
	struct last *l = &k->last[e->key.iteration % REPORT_KEPT_ITERATIONS];
	struct part *p;

	if (l->nr && e->key.iteration < l->iteration)
		return 0;
	if (e->key.iteration != l->iteration)
		l->nr = 0;
	l->iteration = e->key.iteration;
	p = MEM_ADD(l->part, l->nr, l->room);
	if (!p)
		return -ENOMEM;
	*p = (struct part){.item = item, .weight = e->weight};
	return 0;
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct report_kept *k = arg;
	uint32_t number;
	struct item *item = add_item(k, e, &number);

	if (!item)
		return -ENOMEM;
	report_weight_add(&item->weight, &e->weight);
	return add_part(k, e, number);
}

struct report_kept *report_kept_new(struct report_functions *functions, size_t max)
{
	struct report_kept *k = mem_zalloc(sizeof(*k));

	if (!k)
		return NULL;
	k->functions = functions;
	k->max = max;
	dict_init(&k->nodes, sizeof(struct node), sizeof(struct node), DICT_MAX);
	dict_init(&k->items, sizeof(struct item), DICT_KEY(struct item, node), DICT_MAX);
	k->sink =
	    (struct report_sink){.parts = REPORT_BY_ITERATION | REPORT_BY_CPU | REPORT_BY_PID |
					  REPORT_BY_TID | REPORT_BY_COMM | REPORT_BY_STACK,
				 .takes_maxima = true,
				 .entry = add_entry,
				 .arg = k};
	return k;
}

void report_kept_free(struct report_kept *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < REPORT_KEPT_ITERATIONS; i++)
		mem_free(k->last[i].part);
	dict_fini(&k->nodes);
	dict_fini(&k->items);
	mem_free(k);
}

const struct report_sink *report_kept_sink(struct report_kept *k)
{
	return &k->sink;
}

static int pass(const struct report_kept *k, uint32_t number, const struct report_weight *weight,
		const struct report_sink *to)
{
	static struct report_frame frames[MAX_FRAMES]; /* too large for a stack */
	const struct item *item = dict_at(&k->items, number);
	struct report_entry e = {.key = {.event = item->event,
					 .cpu = item->cpu,
					 .pid = item->pid,
					 .tid = item->tid,
					 .thread = item->thread,
					 .comm = item->comm},
				 .weight = *weight,
				 .frames = frames};

	for (uint32_t i = item->node; i != ROOT && e.nr_frames < MAX_FRAMES;) {
		const struct node *n = dict_at(&k->nodes, i);

		frames[e.nr_frames++] = (struct report_frame){
		    .function = report_functions_at(k->functions, n->function)};
		i = n->caller;
	}
	return to->entry(to->arg, &e);
}

static int pass_last(const struct report_kept *k, const struct last *l,
		     const struct report_sink *to)
{
	int rc = 0;

	for (size_t i = 0; i < l->nr && rc == 0; i++)
		rc = pass(k, l->part[i].item, &l->part[i].weight, to);
	return rc;
}

int report_kept_pass(const struct report_kept *k, uint32_t from, const struct report_sink *to)
{
	const struct item *items = k->items.items;
	int rc = 0;

	for (uint32_t i = 0; i < k->items.nr && rc == 0 && !from; i++)
		rc = pass(k, i, &items[i].weight, to);
	for (size_t i = 0; i < REPORT_KEPT_ITERATIONS && rc == 0 && from; i++)
		if (k->last[i].iteration >= from)
			rc = pass_last(k, &k->last[i], to);
	return rc;
}

uint64_t report_kept_nr_cut(const struct report_kept *k)
{
	return k->nr_cut;
}
