/*
 * The mappings of a process at all times. Overlapping mappings form a cluster; clusters are sorted
 * by address. A small cluster is searched from its last mapping back. A large one is a segment
 * tree, so that a lookup takes the square of a logarithm however many mappings a file stacks.
 *
 * A survey reads what exists, not since when. A surveyed mapping applies from the beginning of the
 * life, unless the kernel recorded
 * - the same mapping: then that record applies;
 * - another one at these addresses before: then the surveyed one applies from when it was read.
 * It takes time to read a process. Records made before the survey went on to the next process may
 * describe what it read, also those of a program that an exec started meanwhile.
 *
 * Memory in place of a part of the program's own code is a copy of it: programs move their code to
 * huge pages (iodlr, node --use-largepages, hugetlbfs), and nothing else can be there, as a program
 * is not unloaded. Of libraries that is not known: they may be, and code made at run time follow.
 *
 * Code that a program moved to huge pages is anonymous memory at the addresses of a file. What the
 * kernel records of it, in a part of the program that an exec mapped, is that part. What the
 * survey finds behind a part of a file has its bytes compared (survey/copies.h), as a record of
 * what was there before is missing.
 */
#include "base/array.h"
#include "base/cover.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/processes_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_LIST = 16,  /* per cluster without a tree */
	MAX_NEXT = 64,  /* mappings of the next life to compare */
	MAX_PARTS = 16, /* of a program that are compared */
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
	bool has_vdso;    /* some process has one */
};

static int compare_addresses(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return order_u64(x->m.start, y->m.start) ?: order_u64(x->place, y->place);
}

static int compare_times(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return order_u64(x->m.from_ns, y->m.from_ns) ?: order_u64(x->place, y->place);
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
	struct part *part;

	if (w->nr == PROFILE_MAX_SPACE_MAPPINGS) {
		w->p->has_left_out = true;
		return 0;
	}
	part = MEM_ADD(w->parts, w->nr, w->room);
	if (!part)
		return -ENOMEM;
	*part = (struct part){.m = *m, .place = (uint32_t)w->nr, .is_made = is_made};
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
		    &w->g->maps[w->g->of_lives[next->first_map + i]];

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

/* The vdso is the last mapping of an exec. */
static void note_ready(struct profile_life *l, const struct profile_mapping_record *t)
{
	uint64_t from_ns = t->mapping.from_ns;

	if (t->is_made || l->settled_ns != UINT64_MAX)
		return;
	if (l->ready_ns != UINT64_MAX)
		l->settled_ns = from_ns;
	else if (t->mapping.object->kind == PROFILE_OBJECT_VDSO)
		l->ready_ns = from_ns;
}

static int add_recorded(struct work *w, struct profile_life *l)
{
	int rc = 0;

	if (l->is_exec && w->has_vdso)
		l->ready_ns = l->settled_ns = UINT64_MAX;
	for (uint32_t i = 0; i < l->nr_maps && rc == 0; i++) {
		const struct profile_mapping_record *t =
		    &w->g->maps[w->g->of_lives[l->first_map + i]];

		if (t->is_made && (is_of_next(w, l, t) || is_inherited(w, l, &t->mapping)))
			continue;
		note_ready(l, t);
		rc = add_part(w, &t->mapping, t->is_made);
	}
	return rc;
}

/* Sets the start of a surveyed mapping among those of its cluster, or drops it: see above. */
static void settle(const struct work *w, const struct profile_life *l, struct part *parts,
		   size_t nr, struct part *made)
{
	uint64_t looked_ns = made->m.from_ns, until_ns = profile_looked_until(w->g, looked_ns);
	bool is_other = nr > MAX_LIST;

	for (size_t i = 0; i < nr && nr <= MAX_LIST; i++) {
		struct part *by = &parts[i];

		if (by->is_made || by->m.from_ns > until_ns)
			continue;
		if (is_same(&made->m, &by->m)) {
			if (!by->m.object->build_id_len)
				by->m.object = made->m.object;
			made->is_dropped = true;
			return;
		}
		is_other |= by->m.from_ns <= looked_ns && by->m.start < made->m.end &&
			    made->m.start < by->m.end;
	}
	if (!is_other)
		made->m.from_ns = l->process.from_ns;
}

void profile_trees_fini(struct profile_processes *p)
{
	for (size_t i = 0; i < p->nr_trees; i++)
		cover_fini(&p->trees[i]);
	mem_free(p->trees);
	p->trees = NULL;
	p->nr_trees = p->trees_room = p->nr_tree_mappings = 0;
}

static void range_of(const void *arg, size_t i, uint64_t *start, uint64_t *end)
{
	const struct part *parts = arg;

	*start = parts[i].m.start;
	*end = parts[i].m.end;
}

static int add_tree(struct profile_processes *p, const struct part *parts, size_t nr)
{
	struct cover *t = MEM_ADD(p->trees, p->nr_trees, p->trees_room);

	if (!t)
		return -ENOMEM;
	*t = (struct cover){0};
	p->nr_tree_mappings += nr;
	return cover_make(t, nr, range_of, parts);
}

static int add_cluster(struct profile_processes *p, struct profile_life *l,
		       const struct part *parts, size_t nr)
{
	struct profile_cluster *c = MEM_ADD(p->clusters, p->nr_clusters, p->clusters_room);

	if (!c)
		return -ENOMEM;
	*c = (struct profile_cluster){.start = UINT64_MAX,
				      .first = (uint32_t)p->nr_mappings,
				      .nr = (uint32_t)nr,
				      .tree = nr > MAX_LIST ? (uint32_t)p->nr_trees : PROFILE_NONE};
	for (size_t i = 0; i < nr; i++) {
		struct profile_mapping *m = MEM_ADD(p->mappings, p->nr_mappings, p->mappings_room);

		if (!m)
			return -ENOMEM;
		*m = parts[i].m;
		if (m->start < c->start)
			c->start = m->start;
		if (m->end > c->end)
			c->end = m->end;
	}
	l->nr_clusters++;
	l->nr_mappings += (uint32_t)nr;
	return nr > MAX_LIST ? add_tree(p, parts, nr) : 0;
}

static int make_cluster(struct work *w, struct profile_life *l, struct part *parts, size_t nr)
{
	struct profile_processes *p = w->p;
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++)
		if (parts[i].is_made)
			settle(w, l, parts, nr, &parts[i]);
	for (size_t i = 0; i < nr; i++)
		if (!parts[i].is_dropped)
			parts[kept++] = parts[i];
	if (!kept)
		return 0;
	if (p->nr_mappings + kept > PROFILE_MAX_MAPPINGS ||
	    (kept > MAX_LIST && p->nr_tree_mappings + kept > PROFILE_MAX_TREE_MAPPINGS)) {
		p->has_left_out = true;
		return 0;
	}
	order_sort(parts, kept, sizeof(*parts), compare_times);
	return add_cluster(p, l, parts, kept);
}

static int make_clusters(struct work *w, struct profile_life *l)
{
	int rc = 0;

	l->first_cluster = (uint32_t)w->p->nr_clusters;
	order_sort(w->parts, w->nr, sizeof(*w->parts), compare_addresses);
	for (size_t i = 0, next; i < w->nr && rc == 0; i = next) {
		uint64_t end = w->parts[i].m.end;

		for (next = i + 1; next < w->nr && w->parts[next].m.start < end; next++)
			if (w->parts[next].m.end > end)
				end = w->parts[next].m.end;
		rc = make_cluster(w, l, &w->parts[i], next - i);
	}
	return rc;
}

/* The code that the kernel maps first at an exec. NULL: it is not recorded. */
static const struct profile_object *find_program(const struct work *w)
{
	const struct profile_mapping *first = NULL;

	for (size_t i = 0; i < w->nr; i++) {
		const struct profile_mapping *m = &w->parts[i].m;

		if (!w->parts[i].is_made && profile_mapping_is_code(m) &&
		    (!first || m->from_ns < first->from_ns))
			first = m;
	}
	return first && first->object->kind == PROFILE_OBJECT_FILE ? first->object : NULL;
}

static bool is_memory(const struct profile_object *o)
{
	return o->kind == PROFILE_OBJECT_ANON || o->kind == PROFILE_OBJECT_DELETED;
}

/* Makes memory that lies in a part of the program that part of its file. */
static void name_copies(struct work *w, const struct profile_life *l)
{
	const struct profile_object *program = l->is_exec ? find_program(w) : NULL;
	struct profile_mapping part[MAX_PARTS];
	size_t nr = 0;

	for (size_t i = 0; program && i < w->nr && nr < MAX_PARTS; i++)
		if (w->parts[i].m.object == program)
			part[nr++] = w->parts[i].m;
	for (size_t i = 0; nr && i < w->nr; i++) {
		struct profile_mapping *m = &w->parts[i].m;
		const struct profile_mapping *of =
		    is_memory(m->object)
			? ARRAY_FIND(x, part, nr, x->start <= m->start && m->end <= x->end)
			: NULL;

		if (of) {
			m->object = program;
			m->offset = of->offset + (m->start - of->start);
		}
	}
}

static int make_space(struct work *w, struct profile_life *l)
{
	struct profile_life *lives = w->p->lives;
	int rc = 0;

	w->nr = 0;
	if (l->parent != PROFILE_NONE &&
	    !lives[l->parent].nr_clusters) { /* without mappings: skip */
		l->parent_ns = lives[l->parent].parent_ns;
		l->parent = lives[l->parent].parent;
	}
	l->depth = l->parent == PROFILE_NONE ? 0 : lives[l->parent].depth + 1;
	if (l->depth > PROFILE_MAX_FORKS_DEEP) {
		rc = copy_ancestors(w, l);
		l->parent = PROFILE_NONE;
		l->depth = 0;
	}
	rc = rc ?: add_recorded(w, l);
	name_copies(w, l);
	return rc ?: make_clusters(w, l);
}

static int compare_beginnings(const void *a, const void *b, void *arg)
{
	const struct profile_life *lives = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	return order_u64(lives[i].process.from_ns, lives[k].process.from_ns) ?: order_u64(i, k);
}

int profile_spaces_make(struct profile_processes *p, struct profile_gathered *g)
{
	struct work w = {.p = p,
			 .g = g,
			 .has_vdso = ARRAY_ANY(m, g->maps, g->nr_maps,
					       m->mapping.object->kind == PROFILE_OBJECT_VDSO)};
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
	size_t next;

	if (!l->nr_clusters)
		return NULL;
	c = &p->clusters[l->first_cluster];
	next = ORDER_FIRST(i, l->nr_clusters, c[i].start > address);
	if (next && address < c[next - 1].end) {
		clip(f, c[next - 1].start, c[next - 1].end);
		return &c[next - 1];
	}
	clip(f, next ? c[next - 1].end : 0, next < l->nr_clusters ? c[next].start : UINT64_MAX);
	return NULL;
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

static uint32_t find_in_tree(const struct cover *t, uint32_t nr, uint64_t address,
			     struct profile_found *f)
{
	uint64_t start, end;
	const uint32_t found = cover_find(t, nr, address, &start, &end);

	clip(f, start, end);
	return found == COVER_NONE ? PROFILE_NONE : found;
}

/* Searches this space only. is_past: the time does not narrow the answer's interval. */
static const struct profile_mapping *find_here(const struct profile_processes *p,
					       const struct profile_life *l, uint64_t address,
					       uint64_t time_ns, bool is_past,
					       struct profile_found *f)
{
	const struct profile_cluster *c = find_cluster(p, l, address, f);
	const struct profile_mapping *m = c ? p->mappings + c->first : NULL;
	uint32_t nr, found;

	if (!c)
		return NULL;
	nr = (uint32_t)ORDER_FIRST(i, c->nr, m[i].from_ns > time_ns);
	if (!is_past)
		clip_time(f, nr ? m[nr - 1].from_ns : 0, nr < c->nr ? m[nr].from_ns : UINT64_MAX);
	found = c->tree == PROFILE_NONE ? find_in_list(m, nr, address, f)
					: find_in_tree(&p->trees[c->tree], nr, address, f);
	return found == PROFILE_NONE ? NULL : &m[found];
}

/* Searches the space, then its parent's as of the fork, and so on. An answer of the parent applies
 * at all times after the fork. */
static void find_from(const struct profile_processes *p, const struct profile_life *l,
		      uint64_t address, uint64_t time_ns, bool is_past, struct profile_found *f)
{
	for (;; l = &p->lives[l->parent]) {
		uint64_t fork_ns = l->parent_ns;
		bool is_after = time_ns > fork_ns;

		f->mapping = find_here(p, l, address, time_ns, is_past, f);
		if (f->mapping || l->parent == PROFILE_NONE)
			return;
		if (!is_past)
			clip_time(f, is_after ? fork_ns : 0, is_after ? UINT64_MAX : fork_ns);
		is_past |= is_after;
		time_ns = is_after ? fork_ns : time_ns;
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
	if (!f.mapping && l->ready_ns == UINT64_MAX) /* if the record of its vdso is lost */
		find_from(p, l, address, time_ns, false, &f);
	*out = f;
}
