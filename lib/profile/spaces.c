/*
 * The mappings of a process, at all times. Most mappings overlap no other: they are sorted by
 * address. Those that do form clusters: a small one is searched from its last mapping back, a large
 * one becomes a tree, so that a lookup among mappings that a hostile file stacks takes the square
 * of a logarithm.
 *
 *
 *
 * A survey lists what existed when it looked, not since when. A surveyed mapping is assumed to
 * exist since the life began; but if the kernel recorded the very same mapping, that record and its
 * time hold; and if it recorded another one at the same addresses before, the surveyed one holds
 * from when the survey looked. The survey takes some time for a process: records up to the time at
 * which it went on to the next one may describe what it saw, also those of a program that an exec
 * started meanwhile.
 */
#include "base/mem.h"
#include "profile/processes_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_LIST = 16, /* per cluster without a tree */
	MAX_NEXT = 64, /* mappings of the next life to compare */
};

/* A mapping of the space under construction. */
struct part {
	struct profile_mapping m;
	uint32_t place; /* index in order of time */
	bool is_made, is_dropped;
};

struct work {
	struct profile_processes *p;
	struct profile_gathered *g;
	struct part *parts; /* owned; the current life's */
	size_t nr, room;
	size_t nr_copied; /* over all spaces */
	uint32_t *order;  /* owned; lives in order of their begin */
};

static int compare_addresses(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->m.start != y->m.start)
		return x->m.start < y->m.start ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int compare_times(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->m.from_ns != y->m.from_ns)
		return x->m.from_ns < y->m.from_ns ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static bool overlaps(const struct profile_mapping *a, const struct profile_mapping *b)
{
	return a->start < b->end && b->start < a->end;
}

static bool is_same_place(const struct profile_mapping *a, const struct profile_mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset;
}

/* True if nothing known about the two files differs. */
static bool agrees(const struct profile_object *a, const struct profile_object *b)
{
	return a == b || (!strcmp(a->path, b->path) && (!a->build_id_len || !b->build_id_len));
}

static bool is_same(const struct profile_mapping *a, const struct profile_mapping *b)
{
	return is_same_place(a, b) && agrees(a->object, b->object);
}

static int add_part(struct work *w, const struct profile_mapping *m, bool is_made)
{
	void *grown;

	if (w->nr == PROFILE_MAX_SPACE_MAPPINGS) {
		w->p->has_left_out = true;
		return 0;
	}
	grown = mem_grow(w->parts, w->nr, &w->room, sizeof(*w->parts));
	if (!grown)
		return -ENOMEM;
	w->parts = grown;
	w->parts[w->nr] = (struct part){.m = *m, .place = (uint32_t)w->nr, .is_made = is_made};
	w->nr++;
	return 0;
}

/* Copies the mappings that the life had until a time. */
static int copy_mappings(struct work *w, const struct profile_life *l, uint64_t until_ns)
{
	const struct profile_cluster *c = &w->p->clusters[l->first_cluster];
	int rc = 0;

	if (!l->nr_clusters)
		return 0;
	for (uint32_t i = c->first; rc == 0 && i < c->first + l->nr_mappings; i++) {
		const struct profile_mapping m = w->p->mappings[i];

		if (w->nr_copied++ >= PROFILE_MAX_COPIED) {
			w->p->has_left_out = true;
			return 0;
		}
		rc = m.from_ns <= until_ns ? add_part(w, &m, false) : 0;
	}
	return rc;
}

/* Copies the mappings of the space's ancestors at the fork, oldest ancestor first. */
static int copy_ancestors(struct work *w, const struct profile_life *l)
{
	const struct profile_life *line[PROFILE_MAX_FORKS_DEEP + 1];
	uint64_t until_ns[PROFILE_MAX_FORKS_DEEP + 1];
	size_t nr = 0;
	int rc = 0;

	for (; l->parent != PROFILE_NONE && nr < sizeof(line) / sizeof(line[0]); nr++) {
		until_ns[nr] = l->parent_ns;
		l = line[nr] = &w->p->lives[l->parent];
	}
	while (nr-- && rc == 0)
		rc = copy_mappings(w, line[nr], until_ns[nr]);
	return rc;
}

/* True if the survey may have read the life after this one's exec instead. */
static bool is_of_next(const struct work *w, const struct profile_life *l,
		       const struct profile_mapping_record *t)
{
	const struct profile_life *next = l + 1;
	uint64_t until_ns = profile_looked_until(w->g, t->mapping.from_ns);

	if (l->process.number + 1u == w->p->nr_lives || next->process.pid != l->process.pid ||
	    next->process.from_ns > until_ns)
		return false;
	for (uint32_t i = 0; i < next->nr_maps && i < MAX_NEXT; i++) {
		const struct profile_mapping_record *n =
		    &w->g->maps[w->g->of_lives[next->first_mapping + i]];

		if (n->mapping.from_ns > until_ns)
			return false;
		if (!n->is_made && is_same(&n->mapping, &t->mapping))
			return true;
	}
	return false;
}

/* True for a mapping that the fork already copied. */
static bool is_inherited(const struct work *w, const struct profile_life *l,
			 const struct profile_mapping *m)
{
	struct profile_found found;

	if (l->parent == PROFILE_NONE)
		return false;
	profile_space_find(w->p, l->parent, m->start, l->parent_ns, &found);
	return found.mapping && is_same_place(found.mapping, m) &&
	       found.mapping->object == m->object;
}

/* The vdso is the last mapping of an exec. A program without mappings of its own is complete then.
 */
static void note_ready(struct profile_life *l, const struct profile_mapping_record *t)
{
	uint64_t from_ns = t->mapping.from_ns;

	if (!l->is_exec || t->is_made)
		return;
	if (!l->ready_ns && t->mapping.object->kind == PROFILE_OBJECT_VDSO)
		l->ready_ns = l->settled_ns = from_ns;
	else if (l->ready_ns && l->ready_ns == l->settled_ns)
		l->settled_ns = from_ns;
}

static int add_recorded(struct work *w, struct profile_life *l)
{
	int rc = 0;

	for (uint32_t i = 0; i < l->nr_maps && rc == 0; i++) {
		const struct profile_mapping_record *t =
		    &w->g->maps[w->g->of_lives[l->first_mapping + i]];

		if (t->is_made && (is_of_next(w, l, t) || is_inherited(w, l, &t->mapping)))
			continue;
		note_ready(l, t);
		rc = add_part(w, &t->mapping, t->is_made);
	}
	return rc;
}

static void sort_parts(struct part *parts, size_t nr, int (*compare)(const void *, const void *))
{
	size_t i = 1;

	while (i < nr && compare(&parts[i - 1], &parts[i]) <= 0)
		i++;
	if (i < nr)
		qsort(parts, nr, sizeof(*parts), compare);
}

/* A kernel record of the same mapping takes precedence; the survey may add its build-id. */
static bool is_known_by(const struct part *made, struct part *by, uint64_t until_ns)
{
	if (by->is_made || by->m.from_ns > until_ns || !is_same(&made->m, &by->m))
		return false;
	if (!by->m.object->build_id_len)
		by->m.object = made->m.object;
	return true;
}

/* The start of a surveyed mapping, among those that overlap it; see above. */
static void settle(const struct work *w, const struct profile_life *l, struct part *parts,
		   size_t nr, struct part *made)
{
	uint64_t looked_ns = made->m.from_ns, until_ns = profile_looked_until(w->g, looked_ns);
	bool is_other = nr > MAX_LIST;

	for (size_t i = 0; i < nr && nr <= MAX_LIST; i++) {
		struct part *by = &parts[i];

		if (is_known_by(made, by, until_ns)) {
			made->is_dropped = true;
			return;
		}
		is_other |=
		    !by->is_made && by->m.from_ns <= looked_ns && overlaps(&made->m, &by->m);
	}
	if (!is_other)
		made->m.from_ns = l->process.from_ns;
}

static size_t drop(struct part *parts, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++)
		if (!parts[i].is_dropped)
			parts[kept++] = parts[i];
	return kept;
}

/* Counts the entries of each node or, with entries, stores them. */
static void enter(struct profile_tree *t, uint32_t from, uint32_t to, uint32_t what,
		  uint32_t *entries)
{
	uint32_t *at = t->firsts;

	for (from += t->nr_ranges, to += t->nr_ranges; from < to; from /= 2, to /= 2) {
		if (from & 1) {
			if (entries)
				entries[at[from]] = what;
			at[from++]++;
		}
		if (to & 1) {
			if (entries)
				entries[at[to - 1]] = what;
			at[--to]++;
		}
	}
}

static uint32_t find_range(const struct profile_tree *t, uint64_t address)
{
	size_t from = 0, to = t->nr_ranges;

	while (from + 1 < to) {
		size_t middle = from + (to - from) / 2;

		if (t->bounds[middle] <= address)
			from = middle;
		else
			to = middle;
	}
	return (uint32_t)from;
}

static int compare_bounds(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int make_bounds(struct profile_tree *t, const struct part *parts, size_t nr)
{
	uint32_t kept = 0;

	t->bounds = mem_calloc(2 * nr, sizeof(*t->bounds));
	if (!t->bounds)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		t->bounds[2 * i] = parts[i].m.start;
		t->bounds[2 * i + 1] = parts[i].m.end;
	}
	qsort(t->bounds, 2 * nr, sizeof(*t->bounds), compare_bounds);
	for (size_t i = 0; i < 2 * nr; i++)
		if (!kept || t->bounds[kept - 1] != t->bounds[i])
			t->bounds[kept++] = t->bounds[i];
	t->nr_ranges = kept - 1;
	return 0;
}

static void enter_all(struct profile_tree *t, const struct part *parts, size_t nr,
		      uint32_t *entries)
{
	for (size_t i = 0; i < nr; i++)
		enter(t, find_range(t, parts[i].m.start), find_range(t, parts[i].m.end - 1) + 1,
		      (uint32_t)i, entries);
}

static int make_entries(struct profile_tree *t, const struct part *parts, size_t nr)
{
	size_t nr_nodes = 2 * (size_t)t->nr_ranges;
	uint32_t sum = 0;

	t->firsts = mem_calloc(nr_nodes + 1, sizeof(*t->firsts));
	if (!t->firsts)
		return -ENOMEM;
	enter_all(t, parts, nr, NULL);
	for (size_t i = 0; i <= nr_nodes; i++) {
		uint32_t of_node = t->firsts[i];

		t->firsts[i] = sum;
		sum += of_node;
	}
	t->entries = mem_calloc(sum, sizeof(*t->entries));
	if (!t->entries)
		return -ENOMEM;
	enter_all(t, parts, nr, t->entries); /* this moves each first to the next node's */
	memmove(t->firsts + 1, t->firsts, nr_nodes * sizeof(*t->firsts));
	t->firsts[0] = 0;
	return 0;
}

static void fini_tree(struct profile_tree *t)
{
	mem_free(t->bounds);
	mem_free(t->firsts);
	mem_free(t->entries);
}

void profile_trees_fini(struct profile_processes *p)
{
	for (size_t i = 0; i < p->nr_trees; i++)
		fini_tree(&p->trees[i]);
	mem_free(p->trees);
}

static int add_tree(struct profile_processes *p, const struct part *parts, size_t nr)
{
	struct profile_tree t = {0};
	void *grown = mem_grow(p->trees, p->nr_trees, &p->trees_room, sizeof(*p->trees));
	int rc;

	if (!grown)
		return -ENOMEM;
	p->trees = grown;
	rc = make_bounds(&t, parts, nr);
	if (rc == 0)
		rc = make_entries(&t, parts, nr);
	if (rc) {
		fini_tree(&t);
		return rc;
	}
	p->trees[p->nr_trees++] = t;
	p->nr_tree_mappings += nr;
	return 0;
}

static int add_mappings(struct profile_processes *p, const struct part *parts, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		void *grown =
		    mem_grow(p->mappings, p->nr_mappings, &p->mappings_room, sizeof(*p->mappings));

		if (!grown)
			return -ENOMEM;
		p->mappings = grown;
		p->mappings[p->nr_mappings++] = parts[i].m;
	}
	return 0;
}

static bool has_room(struct profile_processes *p, size_t nr)
{
	bool fits = p->nr_mappings + nr <= PROFILE_MAX_MAPPINGS &&
		    (nr <= MAX_LIST || p->nr_tree_mappings + nr <= PROFILE_MAX_TREE_MAPPINGS);

	p->has_left_out |= !fits;
	return fits;
}

static int add_cluster(struct profile_processes *p, const struct part *parts, size_t nr)
{
	struct profile_cluster c = {.start = UINT64_MAX,
				    .first = (uint32_t)p->nr_mappings,
				    .nr = (uint32_t)nr,
				    .tree = PROFILE_NONE};
	void *grown =
	    mem_grow(p->clusters, p->nr_clusters, &p->clusters_room, sizeof(*p->clusters));
	int rc = 0;

	if (!grown)
		return -ENOMEM;
	p->clusters = grown;
	for (size_t i = 0; i < nr; i++) {
		if (parts[i].m.start < c.start)
			c.start = parts[i].m.start;
		if (parts[i].m.end > c.end)
			c.end = parts[i].m.end;
	}
	if (nr > MAX_LIST) {
		c.tree = (uint32_t)p->nr_trees;
		rc = add_tree(p, parts, nr);
	}
	if (rc == 0)
		rc = add_mappings(p, parts, nr);
	if (rc == 0)
		p->clusters[p->nr_clusters++] = c;
	return rc;
}

static int make_cluster(struct work *w, struct profile_life *l, struct part *parts, size_t nr)
{
	int rc;

	for (size_t i = 0; i < nr; i++)
		if (parts[i].is_made)
			settle(w, l, parts, nr, &parts[i]);
	nr = drop(parts, nr);
	if (!nr || !has_room(w->p, nr))
		return 0;
	sort_parts(parts, nr, compare_times);
	rc = add_cluster(w->p, parts, nr);
	if (rc)
		return rc;
	l->nr_clusters++;
	l->nr_mappings += (uint32_t)nr;
	return 0;
}

static int make_clusters(struct work *w, struct profile_life *l)
{
	int rc = 0;

	l->first_cluster = (uint32_t)w->p->nr_clusters;
	sort_parts(w->parts, w->nr, compare_addresses);
	for (size_t i = 0, next; i < w->nr && rc == 0; i = next) {
		uint64_t end = w->parts[i].m.end;

		for (next = i + 1; next < w->nr && w->parts[next].m.start < end; next++)
			if (w->parts[next].m.end > end)
				end = w->parts[next].m.end;
		rc = make_cluster(w, l, &w->parts[i], next - i);
	}
	return rc;
}

/* A parent without mappings of its own is skipped. */
static void shorten(const struct profile_processes *p, struct profile_life *l)
{
	const struct profile_life *parent;

	if (l->parent == PROFILE_NONE)
		return;
	parent = &p->lives[l->parent];
	if (!parent->nr_clusters) {
		l->parent = parent->parent;
		l->parent_ns = parent->parent_ns;
	}
	l->depth = l->parent == PROFILE_NONE ? 0 : p->lives[l->parent].depth + 1;
}

static int make_space(struct work *w, struct profile_life *l)
{
	int rc = 0;

	w->nr = 0;
	shorten(w->p, l);
	if (l->depth > PROFILE_MAX_FORKS_DEEP) {
		rc = copy_ancestors(w, l);
		l->parent = PROFILE_NONE;
		l->depth = 0;
	}
	if (rc == 0)
		rc = add_recorded(w, l);
	return rc ? rc : make_clusters(w, l);
}

static int compare_beginnings(const void *a, const void *b, void *arg)
{
	const struct profile_life *lives = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (lives[i].process.from_ns != lives[k].process.from_ns)
		return lives[i].process.from_ns < lives[k].process.from_ns ? -1 : 1;
	return i < k ? -1 : i > k;
}

int profile_spaces_make(struct profile_processes *p, struct profile_gathered *g)
{
	struct work w = {.p = p, .g = g};
	int rc = 0;

	w.order = mem_calloc(p->nr_lives, sizeof(*w.order));
	if (!w.order)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr_lives; i++)
		w.order[i] = (uint32_t)i;
	qsort_r(w.order, p->nr_lives, sizeof(*w.order), compare_beginnings, p->lives);
	for (size_t i = 0; i < p->nr_lives && rc == 0; i++)
		rc = make_space(&w, &p->lives[w.order[i]]);
	mem_free(w.order);
	mem_free(w.parts);
	return rc;
}

/* Narrows the range in which the answer holds. */
static void clip(struct profile_found *f, uint64_t start, uint64_t end)
{
	if (start > f->start)
		f->start = start;
	if (end < f->end)
		f->end = end;
}

static void clip_time(struct profile_found *f, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns > f->from_ns)
		f->from_ns = from_ns;
	if (to_ns < f->to_ns)
		f->to_ns = to_ns;
}

/* The cluster that contains the address; NULL: none. */
static const struct profile_cluster *find_cluster(const struct profile_processes *p,
						  const struct profile_life *l, uint64_t address,
						  struct profile_found *f)
{
	const struct profile_cluster *c;
	size_t from = 0, to = l->nr_clusters;

	if (!to)
		return NULL;
	c = &p->clusters[l->first_cluster];
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (c[middle].start <= address)
			from = middle + 1;
		else
			to = middle;
	}
	if (from && address < c[from - 1].end) {
		clip(f, c[from - 1].start, c[from - 1].end);
		return &c[from - 1];
	}
	clip(f, from ? c[from - 1].end : 0, from < l->nr_clusters ? c[from].start : UINT64_MAX);
	return NULL;
}

/* How many of the mappings began until time_ns. */
static uint32_t nr_begun(const struct profile_mapping *m, uint32_t nr, uint64_t time_ns)
{
	uint32_t from = 0, to = nr;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (m[middle].from_ns <= time_ns)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* The last mapping that covers the address; later ones that do not cover it narrow the answer's
 * range. */
static uint32_t find_in_list(const struct profile_mapping *m, uint32_t nr, uint64_t address,
			     struct profile_found *f)
{
	while (nr--) {
		if (m[nr].start <= address && address < m[nr].end) {
			clip(f, m[nr].start, m[nr].end);
			return nr;
		}
		if (m[nr].start > address)
			clip(f, 0, m[nr].start);
		else
			clip(f, m[nr].end, UINT64_MAX);
	}
	return PROFILE_NONE;
}

/* The last entry of a node below nr, or PROFILE_NONE. */
static uint32_t find_in_node(const struct profile_tree *t, uint32_t node, uint32_t nr)
{
	uint32_t from = t->firsts[node], to = t->firsts[node + 1], first = from;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (t->entries[middle] < nr)
			from = middle + 1;
		else
			to = middle;
	}
	return from > first ? t->entries[from - 1] : PROFILE_NONE;
}

static uint32_t find_in_tree(const struct profile_tree *t, uint32_t nr, uint64_t address,
			     struct profile_found *f)
{
	uint32_t range = find_range(t, address), best = PROFILE_NONE;

	clip(f, t->bounds[range], t->bounds[range + 1]);
	for (uint32_t node = t->nr_ranges + range; node; node /= 2) {
		uint32_t of_node = find_in_node(t, node, nr);

		if (of_node != PROFILE_NONE && (best == PROFILE_NONE || of_node > best))
			best = of_node;
	}
	return best;
}

static const struct profile_mapping *find_in_cluster(const struct profile_processes *p,
						     const struct profile_cluster *c,
						     uint64_t address, uint64_t time_ns,
						     struct profile_found *f)
{
	const struct profile_mapping *m = p->mappings + c->first;
	uint32_t nr = nr_begun(m, c->nr, time_ns), found;

	clip_time(f, nr ? m[nr - 1].from_ns : 0, nr < c->nr ? m[nr].from_ns : UINT64_MAX);
	found = c->tree == PROFILE_NONE ? find_in_list(m, nr, address, f)
					: find_in_tree(&p->trees[c->tree], nr, address, f);
	return found == PROFILE_NONE ? NULL : &m[found];
}

/* Searches this space only. is_past: the interval of the answer is already known. */
static const struct profile_mapping *find_here(const struct profile_processes *p,
					       const struct profile_life *l, uint64_t address,
					       uint64_t time_ns, bool is_past,
					       struct profile_found *f)
{
	const struct profile_cluster *c = find_cluster(p, l, address, f);
	const struct profile_mapping *m;
	const struct profile_found before = *f;

	if (!c)
		return NULL;
	m = find_in_cluster(p, c, address, time_ns, f);
	if (is_past) {
		f->from_ns = before.from_ns;
		f->to_ns = before.to_ns;
	}
	return m;
}

/* An answer from the parent holds at all times after the fork. */
static void clip_at_fork(struct profile_found *f, uint64_t fork_ns, uint64_t time_ns)
{
	if (time_ns > fork_ns)
		clip_time(f, fork_ns, UINT64_MAX);
	else
		clip_time(f, 0, fork_ns);
}

/* Searches the space, then its parent's as of the fork, and so on. */
static void find_from(const struct profile_processes *p, const struct profile_life *l,
		      uint64_t address, uint64_t time_ns, bool is_past, struct profile_found *f)
{
	for (;;) {
		f->mapping = find_here(p, l, address, time_ns, is_past, f);
		if (f->mapping || l->parent == PROFILE_NONE)
			break;
		if (!is_past)
			clip_at_fork(f, l->parent_ns, time_ns);
		is_past |= time_ns > l->parent_ns;
		if (time_ns > l->parent_ns)
			time_ns = l->parent_ns;
		l = &p->lives[l->parent];
	}
}

void profile_space_find(const struct profile_processes *p, uint32_t life, uint64_t address,
			uint64_t time_ns, struct profile_found *out)
{
	const struct profile_life *l = &p->lives[life];
	bool is_settled = time_ns >= l->settled_ns, is_ready = time_ns >= l->ready_ns;
	struct profile_found f = {.end = UINT64_MAX, .to_ns = UINT64_MAX};

	clip_time(&f,
		  is_settled ? l->settled_ns
		  : is_ready ? l->ready_ns
			     : 0,
		  is_settled ? UINT64_MAX
		  : is_ready ? l->settled_ns
			     : l->ready_ns);
	if (is_ready)
		find_from(p, l, address, time_ns, false, &f);
	if (!f.mapping && !is_settled)
		find_from(p, l - 1, address, l->process.from_ns, true, &f);
	*out = f;
}
