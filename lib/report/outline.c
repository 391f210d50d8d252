/*
 * Stacks are a tree whose callers have lower numbers, so sums are built from its end. The children
 * of a node are adjacent in one sorted list, so the walk needs no stack.
 */
#include "report/outline.h"

#include "base/mem.h"
#include "base/order.h"
#include "report/functions.h"
#include "report/stacks.h"

#include <errno.h>
#include <stdlib.h>

enum { NONE = UINT32_MAX };

/* A frame of the stacks, or a merged frame. */
struct node {
	const struct report_function *function;
	uint64_t weight, samples; /* including its callees */
	uint32_t parent, number;
	uint32_t place;     /* itself, or the frame that it is merged into */
	uint32_t next, end; /* the range of its children in the sorted list */
	uint32_t rank;      /* its index in the walk */
};

struct work {
	const struct report_stacks *stacks;
	uint64_t min_samples;
	struct node *nodes; /* by number of the stack, followed by merged ones */
	size_t nr, nr_stacks;
	uint32_t *merged; /* by number of the stack: the merged node in it */
	uint32_t *sorted; /* numbers of existing nodes, by parent, then weight */
	size_t nr_sorted;
};

static void add_up(struct work *w, const struct report_slices *slices)
{
	size_t nr;
	const struct report_slice *c = report_slices_counts(slices, &nr);

	for (size_t i = 0; i < nr; i++) {
		w->nodes[c[i].stack].weight += c[i].weight;
		w->nodes[c[i].stack].samples += c[i].samples;
	}
	for (size_t i = w->nr_stacks; i-- > 1;) {
		const struct report_stack_node *stack = report_stacks_at(w->stacks, (uint32_t)i);
		struct node *n = &w->nodes[i], *parent = &w->nodes[stack->parent];

		*n = (struct node){.function = stack->frame.function,
				   .weight = n->weight,
				   .samples = n->samples,
				   .parent = stack->parent,
				   .number = (uint32_t)i};
		parent->weight += n->weight;
		parent->samples += n->samples;
	}
}

/* Merges the node into another if it is small. Call for callers first. */
static void merge(struct work *w, uint32_t number, struct report_outline *out)
{
	struct node *n = &w->nodes[number], *all;
	uint32_t caller = w->nodes[n->parent].place, *merged;

	n->place = number;
	if (caller == n->parent && n->samples >= w->min_samples)
		return;
	out->nr_merged++;
	if (caller != n->parent) { /* the caller is merged */
		n->place = caller;
		return;
	}
	merged = &w->merged[n->parent];
	if (!*merged) {
		*merged = (uint32_t)w->nr++;
		w->nodes[*merged] =
		    (struct node){.parent = n->parent, .number = *merged, .place = *merged};
	}
	all = &w->nodes[*merged];
	all->weight += n->weight;
	all->samples += n->samples;
	n->place = *merged;
}

static int compare_nodes(const void *pa, const void *pb, void *arg)
{
	const struct node *nodes = arg;
	const struct node *a = &nodes[*(const uint32_t *)pa], *b = &nodes[*(const uint32_t *)pb];

	return order_u64(a->parent, b->parent) ?: order_u64(b->weight, a->weight)
		   ?: (a->function && b->function && a->function != b->function
			   ? report_function_compare(a->function, b->function)
			   : order_u64(a->number, b->number));
}

/* Sorts nodes and sets the range of each one's children. */
static void sort(struct work *w)
{
	for (size_t i = 1; i < w->nr; i++)
		if (w->nodes[i].place == i && w->nodes[i].samples)
			w->sorted[w->nr_sorted++] = (uint32_t)i;
	qsort_r(w->sorted, w->nr_sorted, sizeof(*w->sorted), compare_nodes, w->nodes);
	for (size_t i = w->nr_sorted; i-- > 0;) {
		struct node *parent = &w->nodes[w->nodes[w->sorted[i]].parent];

		parent->next = (uint32_t)i;
		parent->end += 1;
	}
	for (size_t i = 0; i < w->nr; i++)
		w->nodes[i].end += w->nodes[i].next;
}

/* Walks the tree: down to the next unvisited child, else up. 0 or -ENOMEM. */
static int make_nodes(struct work *w, struct report_outline *out)
{
	uint32_t at = 0, depth = 0;

	out->nodes = mem_calloc(w->nr_sorted + 1, sizeof(*out->nodes));
	if (!out->nodes)
		return -ENOMEM;
	for (;;) {
		struct node *n = &w->nodes[at];

		if (n->next < n->end) {
			at = w->sorted[n->next++];
			n = &w->nodes[at];
			n->rank = (uint32_t)out->nr;
			out->nodes[out->nr++] =
			    (struct report_outline_node){.function = n->function, .depth = ++depth};
		} else if (at) {
			at = n->parent;
			depth--;
		} else {
			return 0;
		}
	}
}

static uint32_t rank_of(const struct work *w, uint32_t stack)
{
	return w->nodes[w->nodes[stack].place].rank;
}

static int compare_counts(const void *pa, const void *pb)
{
	const struct report_slice *a = pa, *b = pb;

	return order_u64(a->group, b->group) ?: order_u64(a->slice, b->slice);
}

/* Moves the counts of a node down to *end and adds up equal ones, which merging nodes may cause. */
static void pack(struct report_outline *out, size_t first, size_t nr, size_t *end)
{
	const size_t begin = *end;
	struct report_slice *c = out->counts;

	qsort(c + first, nr, sizeof(*c), compare_counts);
	for (size_t i = first; i < first + nr; i++) {
		if (*end > begin && compare_counts(&c[*end - 1], &c[i]) == 0) {
			c[*end - 1].samples += c[i].samples;
			c[*end - 1].weight += c[i].weight;
		} else {
			c[(*end)++] = c[i];
		}
	}
}

/* Assigns the counts to their nodes. */
static int make_counts(const struct work *w, const struct report_slices *slices,
		       struct report_outline *out)
{
	struct report_outline_node *nodes = out->nodes;
	size_t nr, at = 0;
	const struct report_slice *c = report_slices_counts(slices, &nr);

	out->counts = mem_calloc(nr + 1, sizeof(*out->counts));
	if (!out->counts)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		if (c[i].stack)
			nodes[rank_of(w, c[i].stack) + 1].first_count++;
	for (size_t i = 0; i < out->nr; i++)
		nodes[i + 1].first_count += nodes[i].first_count;
	for (size_t i = 0; i < nr; i++)
		if (c[i].stack)
			out->counts[nodes[rank_of(w, c[i].stack)].first_count++] = c[i];
	for (size_t i = 0; i < out->nr; i++) { /* each first_count now is the next node's */
		size_t end = nodes[i].first_count;

		nodes[i].first_count = out->nr_counts;
		pack(out, at, end - at, &out->nr_counts);
		at = end;
	}
	nodes[out->nr].first_count = out->nr_counts;
	return 0;
}

int report_outline_make(const struct report_stacks *stacks, const struct report_slices *slices,
			uint64_t min_samples, struct report_outline *out)
{
	size_t nr = report_stacks_nr(stacks);
	MEM_AUTO struct node *nodes = mem_calloc(2 * nr, sizeof(*nodes));
	MEM_AUTO uint32_t *merged = mem_calloc(nr, sizeof(*merged));
	MEM_AUTO uint32_t *sorted = mem_calloc(2 * nr, sizeof(*sorted));
	struct work w = {.stacks = stacks,
			 .min_samples = min_samples,
			 .nodes = nodes,
			 .nr = nr,
			 .nr_stacks = nr,
			 .merged = merged,
			 .sorted = sorted};
	struct report_outline made = {.nr = 0};
	int rc = -ENOMEM;

	if (nodes && merged && sorted) {
		add_up(&w, slices);
		for (uint32_t i = 1; i < nr; i++)
			merge(&w, i, &made);
		sort(&w);
		rc = make_nodes(&w, &made);
	}
	if (rc == 0)
		rc = make_counts(&w, slices, &made);
	if (rc)
		report_outline_fini(&made);
	else
		*out = made;
	return rc;
}

void report_outline_fini(struct report_outline *o)
{
	mem_free(o->nodes);
	mem_free(o->counts);
}
