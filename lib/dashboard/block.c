/*
 * Tables of things: order, filter, tree and selection. The painter and the keys arrange the lines
 * anew, as each iteration may have other things.
 */
#include "dashboard/block.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool block_find_kind(const struct model *m, size_t n, struct screen_kind *out)
{
	size_t at = 0;

	while (n && n <= MODEL_MAX_BLOCKS && m->shown->is_set &&
	       screen_kind_next(m->shown->table, &at, out))
		if (!--n)
			return true;
	return false;
}

bool block_is_of_processes(const struct screen_kind *k)
{
	static const char name[] = "process";

	return k->name_len == strlen(name) && memcmp(k->name, name, strlen(name)) == 0;
}

const char *block_line_name(const struct block_line *l)
{
	return (*l->thing->first)->name;
}

/* --- the filter --------------------------------------------------------------------------------
 */

/* In the name; of a process also in its owner and command line. */
static bool is_match(struct model *m, const struct screen_kind *k, const char *name,
		     const char *filter)
{
	const struct processes_one *p;

	if (strcasestr(name, filter))
		return true;
	p = block_is_of_processes(k) ? processes_find(&m->processes, name) : NULL;
	return p && (strcasecmp(p->user, filter) == 0 || strcasestr(p->command, filter));
}

static void keep_matches(struct model *m, const char *filter, struct block_lines *l)
{
	size_t nr = 0;

	for (size_t i = 0; i < l->nr; i++)
		if (is_match(m, &l->kind, block_line_name(&l->line[i]), filter))
			l->line[nr++] = l->line[i];
	l->nr = nr;
}

/* --- the tree ----------------------------------------------------------------------------------
 */

enum { MAX_DEPTH = 32 };

struct node {
	uint32_t pid;
	size_t first_child, next; /* index + 1; 0: none */
	size_t last_child;
	bool has_parent;
};

struct tree {
	struct node *node; /* of each line */
	size_t *by_pid;    /* a hash table of indices + 1 */
	size_t nr_places;
};

static size_t *find_place(const struct tree *t, uint32_t pid)
{
	size_t at = pid % t->nr_places;

	while (t->by_pid[at] && t->node[t->by_pid[at] - 1].pid != pid)
		at = (at + 1) % t->nr_places;
	return &t->by_pid[at];
}

static void add_child(const struct tree *t, size_t parent, size_t child)
{
	struct node *p = &t->node[parent];

	if (p->last_child)
		t->node[p->last_child - 1].next = child + 1;
	else
		p->first_child = child + 1;
	p->last_child = child + 1;
	t->node[child].has_parent = true;
}

/* Whether following first leads to the process: pids come from /proc, at different times. */
static bool is_above(struct model *m, const struct tree *t, const struct block_lines *l,
		     size_t above, size_t of)
{
	for (unsigned depth = 0; depth < MAX_DEPTH; depth++) {
		const struct processes_one *p;
		size_t at;

		if (of == above)
			return true;
		p = processes_find(&m->processes, block_line_name(&l->line[of]));
		at = p && p->parent ? *find_place(t, p->parent) : 0;
		if (!at)
			return false;
		of = at - 1;
	}
	return true; /* too deep to tell */
}

static void link_nodes(struct model *m, const struct tree *t, const struct block_lines *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		t->node[i].pid = processes_pid(block_line_name(&l->line[i]));
		if (t->node[i].pid)
			*find_place(t, t->node[i].pid) = i + 1;
	}
	for (size_t i = 0; i < l->nr; i++) {
		const struct processes_one *p =
		    processes_find(&m->processes, block_line_name(&l->line[i]));
		size_t parent = p && p->parent ? *find_place(t, p->parent) : 0;

		if (parent && !is_above(m, t, l, i, parent - 1))
			add_child(t, parent - 1, i);
	}
}

/* Each process below its parent, siblings in the order of the lines. */
static void put_in_order(const struct tree *t, const struct block_lines *l, struct block_line *to)
{
	size_t stack[MAX_DEPTH + 1], nr = 0;

	for (size_t i = 0; i < l->nr; i++) {
		unsigned depth = 0;

		if (t->node[i].has_parent)
			continue;
		stack[0] = i + 1;
		while (stack[0]) {
			size_t at = stack[depth] - 1;

			to[nr] = l->line[at];
			to[nr++].depth = depth;
			if (t->node[at].first_child) {
				stack[++depth] = t->node[at].first_child;
				continue;
			}
			while (depth && !t->node[stack[depth] - 1].next)
				depth--;
			stack[depth] = depth ? t->node[stack[depth] - 1].next : 0;
		}
	}
}

/* Without memory they remain a list. */
static void make_tree(struct model *m, struct block_lines *l)
{
	struct tree t = {.nr_places = 2 * l->nr + 1};
	struct block_line *ordered = mem_calloc(l->nr + 1, sizeof(*ordered));

	t.node = mem_calloc(l->nr + 1, sizeof(*t.node));
	t.by_pid = mem_calloc(t.nr_places, sizeof(*t.by_pid));
	if (ordered && t.node && t.by_pid) {
		link_nodes(m, &t, l);
		put_in_order(&t, l, ordered);
		mem_free(l->line);
		l->line = ordered;
		ordered = NULL;
	}
	mem_free(ordered);
	mem_free(t.node);
	mem_free(t.by_pid);
}

/* Matches, and what is above them. */
static void keep_branches(struct model *m, const char *filter, struct block_lines *l)
{
	size_t nr = l->nr;
	unsigned depth = 0; /* of the last line that was kept: what is above it is kept too */

	for (size_t i = l->nr; i-- > 0;) {
		l->line[i].is_above = !is_match(m, &l->kind, block_line_name(&l->line[i]), filter);
		if (l->line[i].is_above && l->line[i].depth >= depth)
			continue;
		depth = l->line[i].depth;
		l->line[--nr] = l->line[i];
	}
	memmove(l->line, &l->line[nr], (l->nr - nr) * sizeof(*l->line));
	l->nr -= nr;
}

/* --- lines -------------------------------------------------------------------------------------
 */

bool block_lines_find(struct model *m, size_t n, struct block_lines *out)
{
	const struct model_block *b = &m->blocks[n ? n - 1 : 0];
	const char *filter = m->prompt.is_open && m->prompt.block == n ? m->prompt.text : b->filter;
	struct block_lines l;

	if (!block_find_kind(m, n, &l.kind) || screen_things_find(&l.kind, &l.things))
		return false;
	l.line = mem_calloc(l.things.nr + 1, sizeof(*l.line));
	if (!l.line) {
		screen_things_drop(&l.things);
		return false;
	}
	if (b->sort < l.kind.nr_columns)
		screen_things_sort(&l.kind, &l.things, b->sort, b->sorts_up);
	l.nr = l.things.nr;
	for (size_t i = 0; i < l.nr; i++)
		l.line[i] = (struct block_line){.thing = &l.things.item[i],
						.number = (*l.things.item[i].first)->number};
	if (b->is_tree)
		make_tree(m, &l);
	if (*filter && b->is_tree)
		keep_branches(m, filter, &l);
	else if (*filter)
		keep_matches(m, filter, &l);
	*out = l;
	return true;
}

void block_lines_drop(struct block_lines *l)
{
	screen_things_drop(&l->things);
	mem_free(l->line);
}

size_t block_selected(const struct model_block *b, const struct block_lines *l)
{
	for (size_t i = 0; i < l->nr && b->is_moved; i++)
		if (l->line[i].number == b->number)
			return i;
	for (size_t i = 0; i < l->nr && !b->is_moved && !b->selected; i++)
		if (!l->line[i].is_above)
			return i; /* the first match */
	return b->selected < l->nr ? b->selected : l->nr ? l->nr - 1 : 0;
}

/* --- keys --------------------------------------------------------------------------------------
 */

static struct model_block *block_of(struct model *m, size_t n)
{
	return &m->blocks[n - 1];
}

static bool has_items(const struct model *m)
{
	for (size_t i = 0; i < m->facts.nr_events && m->shown->is_set; i++)
		if (model_is_item(m, i))
			return true;
	return false;
}

/* The table, each kind of things, the machine's values. */
void block_move_focus(struct model *m, int by)
{
	size_t place[MODEL_MAX_BLOCKS + 2], nr = 0, at = 0;
	struct screen_kind k;

	if (m->nr_shown_columns)
		place[nr++] = MODEL_FOCUS_TABLE;
	for (size_t n = 1; block_find_kind(m, n, &k); n++)
		place[nr++] = n;
	if (has_items(m))
		place[nr++] = MODEL_FOCUS_MACHINE;
	if (!nr)
		return;
	while (at < nr && place[at] != m->focus)
		at++;
	m->focus = place[at == nr ? 0 : (at + nr + (size_t)(by + (int)nr)) % nr];
}

void block_select(struct model *m, size_t n, size_t at)
{
	struct model_block *b = block_of(m, n);
	struct block_lines l;

	if (!block_lines_find(m, n, &l))
		return;
	if (at < l.nr) {
		b->selected = at;
		b->number = l.line[at].number;
		b->is_moved =
		    at > 0 || l.line[0].is_above; /* at the top: whatever comes to be the first */
	}
	block_lines_drop(&l);
}

void block_move(struct model *m, size_t n, long by)
{
	const struct model_block *b = block_of(m, n);
	struct block_lines l;
	long at;

	if (!block_lines_find(m, n, &l))
		return;
	at = (long)block_selected(b, &l) + by;
	at = at >= (long)l.nr ? (long)l.nr - 1 : at;
	block_lines_drop(&l);
	block_select(m, n, at > 0 ? (size_t)at : 0);
}

/* Descending, ascending, the most active first. */
void block_sort(struct model *m, size_t n)
{
	struct model_block *b = block_of(m, n);

	if (b->sort != b->column) {
		b->sort = b->column;
		b->sorts_up = false;
	} else if (!b->sorts_up) {
		b->sorts_up = true;
	} else {
		b->sort = SIZE_MAX;
	}
	b->selected = b->first = 0;
	b->is_moved = false;
}

void block_move_column(struct model *m, size_t n, long by)
{
	struct model_block *b = block_of(m, n);
	struct screen_kind k;
	long to = (long)b->column + by;

	if (!block_find_kind(m, n, &k))
		return;
	to = to >= (long)k.nr_columns ? (long)k.nr_columns - 1 : to;
	b->column = to > 0 ? (size_t)to : 0;
}

void block_set_filter(struct model *m, size_t n, const char *text)
{
	struct model_block *b = block_of(m, n);

	snprintf(b->filter, sizeof(b->filter), "%s", text);
	b->selected = b->first = 0;
	b->is_moved = false;
}

/* Only of processes, and not in a replay. */
static bool can_describe(struct model *m, size_t n, const char *what)
{
	struct screen_kind k;

	if (!block_find_kind(m, n, &k) || !block_is_of_processes(&k))
		snprintf(m->message, sizeof(m->message), "%s: of processes only", what);
	else if (!m->processes.source.describe)
		snprintf(m->message, sizeof(m->message),
			 "%s: not in a replay, the files of a session have names only", what);
	else
		return true;
	return false;
}

void block_toggle_details(struct model *m, size_t n)
{
	if (can_describe(m, n, "users and command lines"))
		block_of(m, n)->has_details = !block_of(m, n)->has_details;
}

void block_toggle_tree(struct model *m, size_t n)
{
	if (can_describe(m, n, "the tree"))
		block_of(m, n)->is_tree = !block_of(m, n)->is_tree;
}

bool block_open_page(struct model *m, size_t n)
{
	struct block_lines l;
	bool has;

	if (!block_lines_find(m, n, &l))
		return false;
	has = l.nr > 0;
	if (has) {
		const struct block_line *line = &l.line[block_selected(block_of(m, n), &l)];

		m->page =
		    (struct model_page){.of = MODEL_PAGE_THING, .block = n, .number = line->number};
		snprintf(m->page.name, sizeof(m->page.name), "%.*s %.60s", (int)l.kind.name_len,
			 l.kind.name, block_line_name(line));
	}
	block_lines_drop(&l);
	return has;
}

uint32_t block_selected_pid(struct model *m, size_t n)
{
	struct block_lines l;
	uint32_t pid = 0;

	if (!block_lines_find(m, n, &l))
		return 0;
	if (l.nr && block_is_of_processes(&l.kind))
		pid = processes_pid(block_line_name(&l.line[block_selected(block_of(m, n), &l)]));
	block_lines_drop(&l);
	return pid;
}
