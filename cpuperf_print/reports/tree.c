/*
 * The reports tree and callers (the call tree and its inverse), and stacks (its paths, most
 * frequent first).
 */
#include "report/tree.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_PERMILLE = 5, TOP_STACKS = 20, MAX_STACK_BYTES = 1 << 20, MAX_STACK_FRAMES = 2048 };

struct trees {
	struct job *j;
	const char *name;
	struct report_tree *tree;
	struct report_stats stats;
	struct grid *g;
	uint32_t number; /* of the last row, from 1; links rows in csv and ndjson */
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

static struct grid *tree_grid(const struct trees *t, uint32_t event)
{
	const struct grid_column columns[] = {
	    {"event", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"node", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
	    {"parent", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
	    {"depth", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
	    {"total", NULL, NULL, GRID_SHARE, GRID_ALL},
	    {"self", NULL, NULL, GRID_SHARE, GRID_ALL},
	    {"total_samples", "samples", NULL, GRID_COUNT, GRID_ALL},
	    {"total_count", "count", unit_of(t, event), GRID_AMOUNT, GRID_ALL},
	    {"self_count", NULL, unit_of(t, event), GRID_AMOUNT, GRID_ONLY_MACHINES},
	    {"object", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"function", NULL, NULL, GRID_TEXT, GRID_ALL},
	};

	return reports_grid(t->j, columns, sizeof(columns) / sizeof(columns[0]));
}

static void put_node(struct trees *t, const struct report_node *n, uint32_t parent, uint32_t depth)
{
	struct share_interval total = reports_share(&t->stats, n->event, &n->total);
	struct share_interval self = reports_share(&t->stats, n->event, &n->self);

	grid_row(t->g);
	grid_text(t->g, label_of(t, n->event));
	grid_count(t->g, t->number);
	parent ? grid_count(t->g, parent) : grid_none(t->g);
	grid_count(t->g, depth);
	grid_share(t->g, &total);
	n->self.samples || t->j->output->form != GRID_PEOPLE ? grid_share(t->g, &self)
							     : grid_none(t->g);
	grid_count(t->g, n->total.samples);
	grid_count(t->g, reports_amount(t->j, n->event, n->total.weight));
	grid_count(t->g, reports_amount(t->j, n->event, n->self.weight));
	grid_text(t->g, n->function->object);
	grid_tree(t->g, depth, n->function->name);
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

/* Siblings are sorted: all after the first small one are small. */
static int put_below(struct trees *t, uint32_t root, double min)
{
	struct way way[MAX_STACK_FRAMES + 1];
	uint32_t depth = 0, at = node_at(t, root)->first_child;
	uint64_t nr = 0, top = reports_top(t->j, UINT64_MAX);

	for (;;) {
		if (at != REPORT_NO_NODE && depth < t->j->selection->max_depth &&
		    depth < MAX_STACK_FRAMES && is_large(t, at, min) && nr++ < top) {
			t->number++;
			put_node(t, node_at(t, at), depth ? way[depth - 1].number : 0, depth);
			way[depth++] = (struct way){at, t->number};
			at = node_at(t, at)->first_child;
		} else if (depth) {
			at = node_at(t, way[--depth].place)->next;
		} else {
			return grid_error(t->g);
		}
	}
}

typedef struct grid *grid_fn(const struct trees *t, uint32_t event);

/* csv and ndjson still have a header. */
static int put_nothing(struct trees *t, grid_fn *make, struct err *e)
{
	struct grid *g;

	reports_nothing(t->j, &t->stats, "samples");
	if (t->j->output->form == GRID_PEOPLE || !t->stats.nr_events)
		return 0;
	g = make(t, 0);
	return g ? reports_end(t->j, g, 0, e) : err_set(e, -ENOMEM, "out of memory");
}

static int print_roots(struct trees *t, struct err *e)
{
	double min = reports_min_share(t->j, MIN_PERMILLE / 10.0);
	uint32_t root = report_tree_root(t->tree);
	int rc = 0;

	if (root == REPORT_NO_NODE)
		return put_nothing(t, tree_grid, e);

	for (; root != REPORT_NO_NODE && rc == 0; root = node_at(t, root)->next) {
		if (!t->g)
			t->g = tree_grid(t, node_at(t, root)->event);
		if (!t->g)
			return err_set(e, -ENOMEM, "out of memory");
		reports_heading(t->j, &t->stats, node_at(t, root)->event);
		rc = put_below(t, root, min);
		if (t->j->output->form != GRID_PEOPLE && node_at(t, root)->next != REPORT_NO_NODE)
			continue;
		if (node_at(t, root)->next == REPORT_NO_NODE)
			reports_stack_notes(t->j, &t->stats, t->g);
		rc = reports_end(t->j, t->g, rc, e);
		t->g = NULL;
	}
	return rc;
}

static int read_tree(struct trees *t, bool is_inverted, struct err *e)
{
	int rc;

	t->tree = report_tree_new(is_inverted, 0);
	if (!t->tree)
		return err_set(e, -ENOMEM, "out of memory");
	rc = samples_read(t->j, t->j->first, t->j->nr, report_tree_sink(t->tree), &t->stats, e);
	if (rc == 0)
		report_tree_finish(t->tree);
	return rc;
}

static void trees_fini(struct trees *t)
{
	grid_free(t->g);
	report_tree_free(t->tree);
	mem_free(t->stats.event);
}

static int print_tree(struct job *j, bool is_inverted, struct err *e)
{
	struct trees t = {.j = j, .name = is_inverted ? "callers" : "tree"};
	int rc = read_tree(&t, is_inverted, e);

	if (rc == 0)
		rc = print_roots(&t, e);
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
	const char *names[MAX_STACK_FRAMES];
	size_t nr = 0;

	for (; node_at(t, place)->function && nr < MAX_STACK_FRAMES;
	     place = node_at(t, place)->parent)
		names[nr++] = node_at(t, place)->function->name;
	while (nr) {
		add_call(b, names[--nr]);
		buf_adds(b, nr ? "; " : "");
	}
}

/* A stack that has samples. */
struct stack {
	uint32_t node, place; /* place: in preorder */
};

static int compare_stacks(const void *a, const void *b, void *arg)
{
	const struct stack *x = a, *y = b;
	const struct report_node *m = node_at(arg, x->node), *n = node_at(arg, y->node);

	if (m->event != n->event)
		return m->event < n->event ? -1 : 1;
	if (m->self.weight != n->self.weight)
		return m->self.weight > n->self.weight ? -1 : 1;
	if (m->self.samples != n->self.samples)
		return m->self.samples > n->self.samples ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
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
static struct stack *list_stacks(const struct trees *t, size_t *nr)
{
	struct stack *list = mem_calloc(report_tree_nr(t->tree) + 1, sizeof(*list));

	*nr = 0;
	if (!list)
		return NULL;
	for (uint32_t at = report_tree_root(t->tree); at != REPORT_NO_NODE; at = next_node(t, at))
		if (node_at(t, at)->self.samples) {
			list[*nr] = (struct stack){at, (uint32_t)*nr};
			++*nr;
		}
	return list;
}

static struct grid *stacks_grid(const struct trees *t, uint32_t event)
{
	const struct grid_column columns[] = {
	    {"event", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
	    {"share", NULL, NULL, GRID_SHARE, GRID_ALL},
	    {"samples", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"count", NULL, unit_of(t, event), GRID_AMOUNT, GRID_ALL},
	    {"stack", NULL, NULL, GRID_TEXT, GRID_ALL},
	};

	return reports_grid(t->j, columns, sizeof(columns) / sizeof(columns[0]));
}

static void put_stack(struct trees *t, uint32_t place, struct buf *b)
{
	const struct report_node *n = node_at(t, place);
	struct share_interval share = reports_share(&t->stats, n->event, &n->self);

	buf_reset(b);
	add_stack(t, b, place);
	grid_row(t->g);
	grid_text(t->g, label_of(t, n->event));
	grid_share(t->g, &share);
	grid_count(t->g, n->self.samples);
	grid_count(t->g, reports_amount(t->j, n->event, n->self.weight));
	grid_text(t->g, buf_str(b));
}

/* Prints the stacks of one event. Returns how many it has. */
static size_t put_stacks(struct trees *t, const struct stack *list, size_t nr, struct buf *b)
{
	uint32_t event = node_at(t, list[0].node)->event;
	uint64_t top = reports_top(t->j, TOP_STACKS);
	double min = reports_min_share(t->j, 0);
	struct reports_rest rest = {.nr = 0};
	size_t i;

	reports_heading(t->j, &t->stats, event);
	for (i = 0; i < nr && node_at(t, list[i].node)->event == event; i++) {
		const struct report_weight *self = &node_at(t, list[i].node)->self;
		bool is_small = reports_share(&t->stats, event, self).share < min;

		if (i < top && !is_small)
			put_stack(t, list[i].node, b);
		else
			reports_rest_add(&rest, self, i >= top, is_small);
	}
	reports_rest_put(t->j, &rest, NULL, t->g);
	return i;
}

static int print_stacks(struct trees *t, struct err *e)
{
	size_t nr = 0;
	MEM_AUTO struct stack *list = list_stacks(t, &nr);
	struct buf b;
	int rc = 0;

	if (!list)
		return err_set(e, -ENOMEM, "out of memory");
	if (!nr)
		return put_nothing(t, stacks_grid, e);
	qsort_r(list, nr, sizeof(*list), compare_stacks, t);
	buf_init(&b, MAX_STACK_BYTES);
	for (size_t i = 0; i < nr && rc == 0;) {
		if (!t->g)
			t->g = stacks_grid(t, node_at(t, list[i].node)->event);
		if (!t->g)
			rc = err_set(e, -ENOMEM, "out of memory");
		if (rc == 0)
			i += put_stacks(t, list + i, nr - i, &b);
		if (rc || (t->j->output->form != GRID_PEOPLE && i < nr))
			continue;
		if (i == nr)
			reports_stack_notes(t->j, &t->stats, t->g);
		rc = reports_end(t->j, t->g, rc, e);
		t->g = NULL;
	}
	buf_fini(&b);
	return rc;
}

int reports_stacks(struct job *j, struct err *e)
{
	struct trees t = {.j = j, .name = "stacks"};
	int rc = read_tree(&t, false, e);

	if (rc == 0)
		rc = print_stacks(&t, e);
	trees_fini(&t);
	return rc;
}
