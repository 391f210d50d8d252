/*
 * From marks to regions, and the lookup of the region of a thread at a time. Must not trust a mark:
 * not its order, its name or its thread.
 */
#include "profile/regions.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/processes_internal.h"
#include "trace/reader.h"

#include <errno.h>
#include <string.h>

enum {
	MAX_MARKS = 32 << 20,
	MAX_NAMES = 1 << 20,
	MAX_NAME_BYTES = 64 << 20,
	/* of struct mark, beside enum trace_mark_kind: the thread or its program ended */
	MARK_CLOSE = TRACE_NR_MARK_KINDS,
	NR_MARK_KINDS,
};

/* A mark, as collected. */
struct mark {
	uint64_t time_ns;
	uint32_t tid, order;
	uint32_t name, pid;
	uint32_t object, depth;
	uint8_t kind;
};

/* From this time on the thread is in that path. */
struct change {
	uint64_t time_ns;
	uint32_t path;
	bool is_paused;
};

/* The changes of a thread id, in order of time. */
struct timeline {
	uint32_t id;
	size_t first, nr;
};

/* Of a path; the key has no padding. */
struct path {
	uint32_t parent, name; /* key */
	struct profile_region region;
};

struct profile_regions {
	struct dict names;  /* struct name, by number */
	struct dict texts;  /* const char * */
	struct mark *marks; /* owned; only while it is made */
	size_t nr_marks, marks_room;
	struct dict paths;        /* struct path; number - 1 */
	struct timeline *threads; /* owned; by tid */
	size_t nr_threads, threads_room;
	struct change *changes; /* owned */
	size_t nr_changes, changes_room;
	struct timeline *pauses; /* owned; of processes, in pause_changes; by pid */
	size_t nr_pauses, pauses_room;
	struct change *pause_changes; /* owned */
	size_t nr_pause_changes, pause_changes_room;
	struct profile_regions_stats stats;
};

struct name {
	uint32_t number; /* key */
	uint32_t text;
};

struct profile_regions *profile_regions_new(void)
{
	struct profile_regions *r = mem_zalloc(sizeof(*r));

	if (!r)
		return NULL;
	dict_init(&r->names, sizeof(struct name), DICT_KEY(struct name, number), MAX_NAMES);
	dict_init_texts(&r->texts, sizeof(const char *), MAX_NAMES, MAX_NAME_BYTES);
	dict_init(&r->paths, sizeof(struct path), DICT_KEY(struct path, name), PROFILE_MAX_REGIONS);
	return r;
}

void profile_regions_free(struct profile_regions *r)
{
	if (!r)
		return;
	dict_fini(&r->names);
	dict_fini(&r->texts);
	dict_fini(&r->paths);
	mem_free(r->marks);
	mem_free(r->threads);
	mem_free(r->changes);
	mem_free(r->pauses);
	mem_free(r->pause_changes);
	mem_free(r);
}

/* A number that is named again keeps its name. */
int profile_regions_name(struct profile_regions *r, const struct trace_mark_name *n)
{
	uint32_t text = dict_add(&r->texts, n->text);
	size_t nr = r->names.nr;
	struct name *name = text == DICT_NONE ? NULL : dict_get(&r->names, &n->number);

	if (!name)
		return r->texts.nr >= MAX_NAMES || r->names.nr >= MAX_NAMES ? 0 : -ENOMEM;
	if (r->names.nr > nr)
		name->text = text;
	return 0;
}

static int add_mark(struct profile_regions *r, const struct mark *from)
{
	struct mark *m;

	if (r->nr_marks == MAX_MARKS) {
		r->stats.has_left_out = true;
		return 0;
	}
	m = MEM_ADD(r->marks, r->nr_marks, r->marks_room);
	if (!m)
		return -ENOMEM;
	*m = *from;
	m->order = (uint32_t)(r->nr_marks - 1);
	return 0;
}

static bool is_of_regions(uint32_t kind)
{
	return kind != TRACE_MARK_INSTANT && kind != TRACE_MARK_INT &&
	       kind != TRACE_MARK_THREAD_NAME;
}

int profile_regions_add(struct profile_regions *r, const struct trace_marks *marks)
{
	int rc = 0;

	for (size_t i = 0; i < marks->nr && rc == 0; i++) {
		const struct trace_mark *m = &marks->mark[i];

		if (is_of_regions(m->kind))
			rc = add_mark(r, &(struct mark){.time_ns = m->time_ns,
							.tid = marks->tid,
							.pid = marks->pid,
							.name = m->name,
							.object = marks->object,
							.depth = m->depth,
							.kind = (uint8_t)m->kind});
	}
	r->stats.nr_marks += marks->nr;
	r->stats.nr_lost += marks->lost;
	return rc;
}

static int compare_marks(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return order_u64(x->tid, y->tid)
		   ?: order_u64(x->time_ns, y->time_ns) ?: order_u64(x->order, y->order);
}

/* A region that has begun. */
struct open {
	uint64_t begin_ns, inner_ns; /* inner: of the regions in it */
	uint32_t path;
	uint32_t object, depth; /* as marked */
};

/* A thread while its marks are read in order. */
struct thread {
	struct profile_regions *r;
	struct open stack[PROFILE_MAX_REGION_DEPTH];
	size_t depth;
	bool is_paused;
};

static uint32_t find_path(struct profile_regions *r, uint32_t parent, uint32_t number)
{
	uint32_t found = dict_find(&r->names, &number);
	const struct name *name = dict_at(&r->names, found);
	struct path key = {.parent = parent, .name = name ? name->text + 1 : 0}, *path;
	size_t nr = r->paths.nr;
	uint32_t at = dict_add(&r->paths, &key);

	if (at == DICT_NONE) {
		r->stats.has_left_out = true;
		return parent;
	}
	path = dict_at(&r->paths, at);
	if (r->paths.nr > nr) {
		const struct path *outer = parent ? dict_at(&r->paths, parent - 1) : NULL;

		path->region = (struct profile_region){
		    .number = at + 1,
		    .parent = parent,
		    .depth = outer ? outer->region.depth + 1 : 0,
		    .name = name ? dict_text(&r->texts, name->text) : "[unknown]",
		    .min_ns = UINT64_MAX,
		};
	}
	return at + 1;
}

static int add_change(struct thread *t, uint64_t time_ns)
{
	struct profile_regions *r = t->r;
	struct change *c = MEM_ADD(r->changes, r->nr_changes, r->changes_room);

	if (!c)
		return -ENOMEM;
	*c = (struct change){.time_ns = time_ns,
			     .path = t->depth ? t->stack[t->depth - 1].path : PROFILE_NO_REGION,
			     .is_paused = t->is_paused};
	r->threads[r->nr_threads - 1].nr++;
	return 0;
}

/* Ends the innermost region. */
static void end_region(struct thread *t, uint64_t time_ns, bool is_closed)
{
	const struct open *o = &t->stack[--t->depth];
	struct path *path = dict_at(&t->r->paths, o->path - 1);
	struct profile_region *region = &path->region;
	uint64_t ns = time_ns - o->begin_ns;

	region->calls++;
	region->closed += is_closed;
	region->wall_ns += ns;
	region->self_ns += ns > o->inner_ns ? ns - o->inner_ns : 0;
	region->min_ns = ns < region->min_ns ? ns : region->min_ns;
	region->max_ns = ns > region->max_ns ? ns : region->max_ns;
	region->squares += (double)ns * (double)ns;
	if (t->depth)
		t->stack[t->depth - 1].inner_ns += ns;
}

/* The outermost open region of the object that is at least as deep; t->depth: there is none. */
static size_t find_open(const struct thread *t, const struct mark *m)
{
	size_t i = t->depth;

	while (i && (t->stack[i - 1].object != m->object || t->stack[i - 1].depth >= m->depth))
		i--;
	while (i < t->depth && t->stack[i].object != m->object)
		i++;
	return i;
}

/* A region of the same depth has ended: its end was lost. */
static void begin_region(struct thread *t, const struct mark *m)
{
	size_t same = find_open(t, m);
	uint32_t parent, path;

	while (t->depth > same)
		end_region(t, m->time_ns, true);
	if (t->depth == PROFILE_MAX_REGION_DEPTH) {
		t->r->stats.has_left_out = true;
		return;
	}
	parent = t->depth ? t->stack[t->depth - 1].path : PROFILE_NO_REGION;
	path = find_path(t->r, parent, m->name);
	if (path != parent) /* else there are too many paths: it is part of its parent */
		t->stack[t->depth++] = (struct open){
		    .begin_ns = m->time_ns, .path = path, .object = m->object, .depth = m->depth};
}

/* Also ends the regions inside, whose ends were lost. */
static void end_marked(struct thread *t, const struct mark *m)
{
	size_t at = find_open(t, m);

	if (at == t->depth || t->stack[at].depth != m->depth) {
		t->r->stats.nr_unmatched++;
		return;
	}
	while (t->depth > at + 1)
		end_region(t, m->time_ns, true);
	end_region(t, m->time_ns, false);
}

static void close_all(struct thread *t, uint64_t time_ns)
{
	while (t->depth)
		end_region(t, time_ns, true);
	t->is_paused = false;
}

static int add_pause(struct profile_regions *r, const struct mark *m)
{
	struct change *c = MEM_ADD(r->pause_changes, r->nr_pause_changes, r->pause_changes_room);

	if (!c)
		return -ENOMEM;
	/* path: the pid, until they are sorted */
	*c = (struct change){m->time_ns, m->pid, m->kind == TRACE_MARK_PAUSE};
	return 0;
}

static int read_mark(struct thread *t, const struct mark *m)
{
	switch (m->kind) {
	case TRACE_MARK_BEGIN:
	case TRACE_MARK_BEGIN_NUMBER:
		begin_region(t, m);
		break;
	case TRACE_MARK_END:
		end_marked(t, m);
		break;
	case TRACE_MARK_PAUSE_THREAD:
	case TRACE_MARK_RESUME_THREAD:
		t->is_paused = m->kind == TRACE_MARK_PAUSE_THREAD;
		break;
	case MARK_CLOSE:
		close_all(t, m->time_ns);
		break;
	default:
		return add_pause(t->r, m);
	}
	return add_change(t, m->time_ns);
}

/* Reads the marks of one thread id, [first, end). */
static int read_thread(struct thread *t, size_t first, size_t end)
{
	struct profile_regions *r = t->r;
	struct timeline *line = MEM_ADD(r->threads, r->nr_threads, r->threads_room);
	int rc = 0;

	if (!line)
		return -ENOMEM;
	*line = (struct timeline){r->marks[first].tid, r->nr_changes, 0};
	for (size_t i = first; i < end && rc == 0; i++)
		rc = read_mark(t, &r->marks[i]);
	if (t->depth && rc == 0) {
		close_all(t, r->marks[end - 1].time_ns);
		rc = add_change(t, r->marks[end - 1].time_ns);
	}
	t->depth = 0;
	t->is_paused = false;
	return rc;
}

static bool has_marks(const struct profile_regions *r, size_t nr, uint32_t tid)
{
	size_t at = ORDER_FIRST(i, nr, r->marks[i].tid >= tid);

	return at < nr && r->marks[at].tid == tid;
}

/* The ends of threads with marks, and the execs of their processes. */
static int add_ends(struct profile_regions *r, const struct profile_gathered *g)
{
	size_t nr = r->nr_marks;
	int rc = 0;

	for (size_t i = 0; i < g->nr_changes && rc == 0; i++) {
		const struct profile_change *c = &g->changes[i];

		if ((c->kind == PROFILE_EXIT || c->kind == PROFILE_EXEC) && !c->is_made &&
		    has_marks(r, nr, c->tid))
			rc = add_mark(r, &(struct mark){.time_ns = c->time_ns,
							.tid = c->tid,
							.kind = MARK_CLOSE});
	}
	return rc;
}

static int compare_pauses(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return order_u64(x->path, y->path) ?: order_u64(x->time_ns, y->time_ns);
}

static int make_pauses(struct profile_regions *r)
{
	order_sort(r->pause_changes, r->nr_pause_changes, sizeof(*r->pause_changes),
		   compare_pauses);
	for (size_t i = 0; i < r->nr_pause_changes; i++) {
		struct timeline *line = r->nr_pauses ? &r->pauses[r->nr_pauses - 1] : NULL;

		if (!line || line->id != r->pause_changes[i].path) {
			line = MEM_ADD(r->pauses, r->nr_pauses, r->pauses_room);
			if (!line)
				return -ENOMEM;
			*line = (struct timeline){r->pause_changes[i].path, i, 0};
		}
		line->nr++;
	}
	return 0;
}

int profile_regions_make(struct profile_processes *p, const struct profile_gathered *g)
{
	struct profile_regions *r = p->regions;
	struct thread *t;
	size_t first = 0;
	int rc;

	if (!r->nr_marks)
		return 0;
	order_sort(r->marks, r->nr_marks, sizeof(*r->marks), compare_marks);
	rc = add_ends(r, g);
	order_sort(r->marks, r->nr_marks, sizeof(*r->marks), compare_marks);
	t = mem_zalloc(sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->r = r;
	for (size_t i = 1; i <= r->nr_marks && rc == 0; i++) {
		if (i < r->nr_marks && r->marks[i].tid == r->marks[first].tid)
			continue;
		rc = read_thread(t, first, i);
		first = i;
	}
	mem_free(t);
	mem_free(r->marks);
	r->marks = NULL;
	r->nr_marks = r->marks_room = 0;
	r->stats.nr_threads = r->nr_threads;
	p->has_left_out |= r->stats.has_left_out;
	return rc ?: make_pauses(r);
}

size_t profile_nr_regions(const struct profile_processes *p)
{
	return p->regions->paths.nr + 1;
}

const struct profile_region *profile_region(const struct profile_processes *p, uint32_t number)
{
	static const struct profile_region none = {.name = "[none]"};

	return number == PROFILE_NO_REGION
		   ? &none
		   : &((const struct path *)dict_at(&p->regions->paths, number - 1))->region;
}

void profile_region_text(const struct profile_processes *p, uint32_t number, struct buf *out)
{
	uint32_t path[PROFILE_MAX_REGION_DEPTH];
	const struct profile_region *r = profile_region(p, number);
	size_t nr = 0;

	for (; r->parent != PROFILE_NO_REGION && nr < PROFILE_MAX_REGION_DEPTH - 1;
	     r = profile_region(p, r->parent))
		path[nr++] = r->number;
	buf_adds(out, r->name);
	while (nr) {
		buf_adds(out, " > ");
		buf_adds(out, profile_region(p, path[--nr])->name);
	}
}

const struct profile_regions_stats *profile_regions_stats(const struct profile_processes *p)
{
	return &p->regions->stats;
}

/* The last change of the id until then; NULL: there is none. */
static const struct change *change_at(const struct timeline *lines, size_t nr,
				      const struct change *changes, uint32_t id, uint64_t time_ns)
{
	size_t at = ORDER_FIRST(i, nr, lines[i].id >= id), last;

	if (at == nr || lines[at].id != id)
		return NULL;
	changes += lines[at].first;
	last = ORDER_FIRST(i, lines[at].nr, changes[i].time_ns > time_ns);
	return last ? &changes[last - 1] : NULL;
}

uint32_t profile_region_at(const struct profile_processes *p, uint32_t tid, uint64_t time_ns)
{
	const struct profile_regions *r = p->regions;
	const struct change *c = change_at(r->threads, r->nr_threads, r->changes, tid, time_ns);

	return c ? c->path : PROFILE_NO_REGION;
}

bool profile_is_paused(const struct profile_processes *p, uint32_t pid, uint32_t tid,
		       uint64_t time_ns)
{
	const struct profile_regions *r = p->regions;
	const struct change *thread =
	    change_at(r->threads, r->nr_threads, r->changes, tid, time_ns);
	const struct change *process =
	    change_at(r->pauses, r->nr_pauses, r->pause_changes, pid, time_ns);

	return (thread && thread->is_paused) || (process && process->is_paused);
}
