/*
 * The reports tree and callers (the call tree and its inverse), and stacks (its paths, most
 * frequent first).
 */
#include "report/tree.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_PERMILLE = 5, TOP_STACKS = 20, MAX_STACK_BYTES = 1 << 20, MAX_STACK_FRAMES = 2048 };

/* A stack that has samples. */
struct stack {
	uint32_t node, place; /* place: in preorder */
};

struct trees {
	struct job *j;
	struct report_tree *tree;
	struct report_stats stats;
	struct stack *stacks; /* owned */
	size_t nr_stacks;
	uint32_t number;    /* of the last row, from 1; links rows in csv and ndjson */
	struct way *way;    /* owned: MAX_STACK_FRAMES + 1 */
	const char **names; /* owned: MAX_STACK_FRAMES */
};

static const struct report_node *node_at(const struct trees *t, uint32_t place)
{
	return report_tree_node(t->tree, place);
}

static const char *label_of(const struct trees *t, uint32_t event)
{
	return job_event(t->j, event)->label;
}

static const char *unit_of(const struct trees *t, uint32_t event)
{
	return job_event(t->j, event)->unit;
}

static struct grid *make_tree_grid(const void *trees, uint32_t event)
{
	const struct trees *t = trees;
	const struct grid_column columns[] = {
	    {"event", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"node", NULL, NULL, GRID_NUMBER, GRID_ONLY_MACHINES},
	    {"parent", NULL, NULL, GRID_NUMBER, GRID_ONLY_MACHINES},
	    {"depth", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
	    {"self", NULL, NULL, GRID_SHARE, GRID_ONLY_PEOPLE}, /* as in other reports */
	    {"total", NULL, NULL, GRID_SHARE, GRID_ALL},
	    {"self", NULL, NULL, GRID_SHARE, GRID_ONLY_MACHINES},
	    {"total_samples", "samples", NULL, GRID_COUNT, GRID_ALL},
	    {"total_count", "count", unit_of(t, event), GRID_AMOUNT, GRID_ALL},
	    {"self_count", NULL, unit_of(t, event), GRID_AMOUNT, GRID_ONLY_MACHINES},
	    {"object", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"function", NULL, NULL, GRID_TEXT, GRID_ALL},
	};

	return reports_grid(t->j, columns, sizeof(columns) / sizeof(columns[0]));
}

static void put_node(const struct trees *t, struct grid *g, const struct report_node *n,
		     uint32_t parent, uint32_t depth)
{
	struct interval total = reports_share(&t->stats, n->event, &n->total);
	struct interval self =
	    reports_self_share(&n->self, &n->total, &t->stats.event[n->event].counted);

	grid_row(g);
	grid_text(g, label_of(t, n->event));
	grid_count(g, t->number);
	parent ? grid_count(g, parent) : grid_none(g);
	grid_count(g, depth);
	n->self.samples ? grid_share(g, &self) : grid_none(g);
	grid_share(g, &total);
	grid_share(g, &self);
	grid_count(g, reports_nr_samples(t->j, &t->stats, n->event, &n->total));
	grid_count(g, reports_amount(t->j, n->event, n->total.weight));
	grid_count(g, reports_amount(t->j, n->event, n->self.weight));
	grid_text(g, n->function->object);
	grid_tree(g, depth, n->function->name);
}

/* A path from the root. */
struct way {
	uint32_t place, number; /* the node, and its row */
};

static bool is_large(const struct trees *t, uint32_t place, double min)
{
	const struct report_node *n = node_at(t, place);

	return reports_share(&t->stats, n->event, &n->total).share >= min;
}

static uint32_t root_event(const void *trees, size_t root)
{
	return node_at(trees, (uint32_t)root)->event;
}

/* Siblings are sorted: all after the first small one are small. */
static size_t put_root(void *trees, struct grid *g, size_t root)
{
	struct trees *t = trees;
	const double min = reports_min_share(t->j, MIN_PERMILLE / 10.0);
	struct way *way = t->way;
	uint32_t depth = 0, at = node_at(t, (uint32_t)root)->first_child;
	uint64_t nr = 0, top = reports_top(t->j, UINT64_MAX);

	for (;;) {
		if (at != REPORT_NO_NODE && depth < t->j->selection->max_depth &&
		    depth < MAX_STACK_FRAMES && is_large(t, at, min) && nr++ < top) {
			t->number++;
			put_node(t, g, node_at(t, at), depth ? way[depth - 1].number : 0, depth);
			way[depth++] = (struct way){at, t->number};
			at = node_at(t, at)->first_child;
		} else if (depth) {
			at = node_at(t, way[--depth].place)->next;
		} else {
			break;
		}
	}
	at = node_at(t, (uint32_t)root)->next;
	return at == REPORT_NO_NODE ? REPORTS_END : at;
}

static const struct reports_tables tree_tables = {make_tree_grid, root_event, put_root};

static int read_tree(struct trees *t, bool is_inverted, struct err *e)
{
	int rc;

	t->tree = report_tree_new(is_inverted, 0);
	t->way = mem_calloc(MAX_STACK_FRAMES + 1, sizeof(*t->way));
	t->names = mem_calloc(MAX_STACK_FRAMES, sizeof(*t->names));
	if (!t->tree || !t->way || !t->names)
		return err_set(e, -ENOMEM, "out of memory");
	rc = samples_read(t->j, t->j->first, t->j->nr, report_tree_sink(t->tree), &t->stats, e);
	if (rc == 0 && report_tree_finish(t->tree))
		rc = err_set(e, -ENOMEM, "out of memory");
	return rc;
}

static void trees_fini(struct trees *t)
{
	report_tree_free(t->tree);
	mem_free(t->stacks);
	mem_free(t->way);
	mem_free(t->names);
	report_stats_fini(&t->stats);
}

static int print_tree(struct job *j, bool is_inverted, struct err *e)
{
	struct trees t = {.j = j};
	int rc = read_tree(&t, is_inverted, e);
	uint32_t root;

	if (rc == 0) {
		root = report_tree_root(t.tree);
		rc = reports_put_tables(j, &t.stats, &tree_tables, &t,
					root == REPORT_NO_NODE ? REPORTS_END : root, e);
	}
	trees_fini(&t);
	return rc;
}

int reports_tree(struct job *j, struct err *e)
{
	return print_tree(j, false, e);
}

int reports_callers(struct job *j, struct err *e)
{
	return print_tree(j, true, e);
}

/* Appends "()" unless the name has arguments. */
static void add_call(struct buf *b, const char *name)
{
	size_t len = strlen(name);

	buf_add(b, name, len);
	if (len && name[len - 1] != ')' && name[len - 1] != ']')
		buf_adds(b, "()");
}

/* The path from the root to the node. */
static void add_stack(const struct trees *t, struct buf *b, uint32_t place)
{
	const char **names = t->names;
	size_t nr = 0;

	for (; node_at(t, place)->function && nr < MAX_STACK_FRAMES;
	     place = node_at(t, place)->parent)
		names[nr++] = node_at(t, place)->function->name;
	while (nr) {
		add_call(b, names[--nr]);
		buf_adds(b, nr ? "; " : "");
	}
}

static int compare_stacks(const void *a, const void *b, void *arg)
{
	const struct stack *x = a, *y = b;
	const struct report_node *m = node_at(arg, x->node), *n = node_at(arg, y->node);

	return order_u64(m->event, n->event)
		   ?: order_u64(n->self.weight, m->self.weight)
		   ?: order_u64(n->self.samples, m->self.samples)
		   ?: order_u64(x->place, y->place);
}

/* The next node in preorder. */
static uint32_t next_node(const struct trees *t, uint32_t at)
{
	if (node_at(t, at)->first_child != REPORT_NO_NODE)
		return node_at(t, at)->first_child;
	while (at != REPORT_NO_NODE && node_at(t, at)->next == REPORT_NO_NODE)
		at = node_at(t, at)->parent;
	return at == REPORT_NO_NODE ? at : node_at(t, at)->next;
}

/* Ties keep preorder, which is sorted by name. */
static int list_stacks(struct trees *t)
{
	t->stacks = mem_calloc(report_tree_nr(t->tree) + 1, sizeof(*t->stacks));
	if (!t->stacks)
		return -ENOMEM;
	for (uint32_t at = report_tree_root(t->tree); at != REPORT_NO_NODE; at = next_node(t, at))
		if (node_at(t, at)->self.samples) {
			t->stacks[t->nr_stacks] = (struct stack){at, (uint32_t)t->nr_stacks};
			t->nr_stacks++;
		}
	if (t->nr_stacks)
		qsort_r(t->stacks, t->nr_stacks, sizeof(*t->stacks), compare_stacks, t);
	return 0;
}

static struct grid *make_stacks_grid(const void *trees, uint32_t event)
{
	const struct trees *t = trees;
	const struct grid_column columns[] = {
	    {"event", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"share", NULL, NULL, GRID_SHARE, GRID_ALL},
	    {"samples", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"count", NULL, unit_of(t, event), GRID_AMOUNT, GRID_ALL},
	    {"stack", NULL, NULL, GRID_TEXT, GRID_ALL},
	};

	return reports_grid(t->j, columns, sizeof(columns) / sizeof(columns[0]));
}

static void put_stack(const struct trees *t, struct grid *g, uint32_t place, struct buf *b)
{
	const struct report_node *n = node_at(t, place);
	struct interval share = reports_share(&t->stats, n->event, &n->self);

	buf_reset(b);
	add_stack(t, b, place);
	grid_row(g);
	grid_text(g, label_of(t, n->event));
	grid_share(g, &share);
	grid_count(g, reports_nr_samples(t->j, &t->stats, n->event, &n->self));
	grid_count(g, reports_amount(t->j, n->event, n->self.weight));
	grid_text(g, buf_str(b));
}

static uint32_t stack_event(const void *trees, size_t at)
{
	const struct trees *t = trees;

	return node_at(t, t->stacks[at].node)->event;
}

static size_t put_stacks(void *trees, struct grid *g, size_t first)
{
	struct trees *t = trees;
	const uint32_t event = stack_event(t, first);
	const uint64_t top = reports_top(t->j, TOP_STACKS);
	const double min = reports_min_share(t->j, 0);
	struct reports_rest rest = {.nr = 0};
	BUF_AUTO(b, MAX_STACK_BYTES);
	struct interval share;
	size_t i;

	for (i = first; i < t->nr_stacks && stack_event(t, i) == event; i++) {
		const struct report_weight *self = &node_at(t, t->stacks[i].node)->self;
		bool is_small = reports_share(&t->stats, event, self).share < min;

		if (i - first < top && !is_small)
			put_stack(t, g, t->stacks[i].node, &b);
		else
			reports_rest_add(&rest, self, i - first >= top, is_small);
	}
	share = reports_share(&t->stats, event, &rest.weight);
	reports_rest_put(t->j, &rest, &share, g);
	return i < t->nr_stacks ? i : REPORTS_END;
}

static const struct reports_tables stacks_tables = {make_stacks_grid, stack_event, put_stacks};

int reports_stacks(struct job *j, struct err *e)
{
	struct trees t = {.j = j};
	int rc = read_tree(&t, false, e);

	if (rc == 0 && list_stacks(&t))
		rc = err_set(e, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = reports_put_tables(j, &t.stats, &stacks_tables, &t,
					t.nr_stacks ? 0 : REPORTS_END, e);
	trees_fini(&t);
	return rc;
}
