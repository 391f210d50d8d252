/*
 * From marks to regions, and the lookup of the region of a thread at a time. Must not trust a mark:
 * not its order, its name or its thread.
 */
#include "profile/regions.h"

#include "base/buf.h"
#include "base/heap.h"
#include "base/mem.h"
#include "base/order.h"
#include "profile/regions_internal.h"
#include "trace/reader.h"

#include <errno.h>
#include <string.h>

enum {
	MAX_MARKS = 128 << 20,
	MAX_STREAMS = 1 << 20,
	MAX_NAMES = 1 << 20,
	MAX_NAME_BYTES = 64 << 20,
	STEPS_PER_PLACE = 64,
};

/* The marks of a thread and object, until regions are made of them: steps with the kind of a mark,
 * and its name. The key has no padding. */
struct stream {
	uint32_t tid, pid, object; /* key */
	uint32_t number;
	bool has_lost;
	struct region_log log;
};

/* From this time on the process is paused, or not. */
struct pause {
	uint64_t time_ns;
	uint32_t pid;
	bool is_paused;
};

/* The thread or its program ended. */
struct end {
	uint64_t time_ns;
	uint32_t tid;
};

/* Of a path; the key has no padding. */
struct path {
	uint32_t parent, name; /* key */
	struct profile_region region;
};

struct profile_regions {
	struct dict names;             /* struct name, by number */
	struct dict texts;             /* const char * */
	struct dict notes;             /* const char * */
	struct dict streams;           /* struct stream; only while it is made */
	struct dict paths;             /* struct path; number - 1 */
	struct region_thread *threads; /* owned; by tid */
	size_t nr_threads, threads_room;
	struct pause *pauses; /* owned; by pid, then time */
	size_t nr_pauses, pauses_room;
	struct end *ends; /* owned; only while it is made; by tid, then time */
	size_t nr_ends, ends_room;
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
	dict_init_texts(&r->notes, sizeof(const char *), PROFILE_MAX_REGION_NOTES, MAX_NAME_BYTES);
	dict_init(&r->streams, sizeof(struct stream), DICT_KEY(struct stream, object), MAX_STREAMS);
	dict_init(&r->paths, sizeof(struct path), DICT_KEY(struct path, name), PROFILE_MAX_REGIONS);
	return r;
}

static void drop_marks(struct profile_regions *r)
{
	for (uint32_t i = 0; i < r->streams.nr; i++)
		region_log_fini(&((struct stream *)dict_at(&r->streams, i))->log);
	dict_fini(&r->streams);
	mem_free(r->ends);
	r->ends = NULL;
	r->nr_ends = r->ends_room = 0;
}

void profile_regions_free(struct profile_regions *r)
{
	if (!r)
		return;
	drop_marks(r);
	dict_fini(&r->names);
	dict_fini(&r->texts);
	dict_fini(&r->notes);
	dict_fini(&r->paths);
	for (size_t i = 0; i < r->nr_threads; i++) {
		region_log_fini(&r->threads[i].log);
		mem_free(r->threads[i].places);
	}
	mem_free(r->threads);
	mem_free(r->pauses);
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

int profile_regions_add(struct profile_regions *r, const struct trace_marks *marks)
{
	const struct stream key = {.tid = marks->tid, .pid = marks->pid, .object = marks->object};
	uint32_t number = dict_add(&r->streams, &key);
	struct stream *stream = dict_at(&r->streams, number);
	bool is_full =
	    (!stream && r->streams.nr >= MAX_STREAMS) || r->stats.nr_marks + marks->nr > MAX_MARKS;
	int rc = stream || is_full ? 0 : -ENOMEM;

	r->stats.has_left_out |= is_full;
	for (size_t i = 0; i < marks->nr && rc == 0 && !is_full; i++) {
		const struct trace_mark *m = &marks->mark[i];

		stream->number = number;
		rc = region_log_add(&stream->log, &(struct region_step){.time_ns = m->time_ns,
									.value = (int64_t)m->value,
									.what = m->name,
									.depth = m->depth,
									.kind = m->kind});
	}
	if (stream)
		stream->has_lost |= marks->lost != 0;
	r->stats.nr_marks += marks->nr;
	r->stats.nr_lost += marks->lost;
	return rc;
}

int profile_regions_note(struct profile_regions *r, const char *text)
{
	struct profile_regions_stats *s = &r->stats;
	uint32_t number;

	if ((!strstr(text, "marks") && !strstr(text, "regions")) ||
	    s->nr_notes == PROFILE_MAX_REGION_NOTES)
		return 0;
	number = dict_add(&r->notes, text);
	if (number == DICT_NONE)
		return r->notes.nr == r->notes.max ? 0 : -ENOMEM;
	if (number == s->nr_notes)
		s->notes[s->nr_notes++] = dict_text(&r->notes, number);
	return 0;
}

/* An end after which the object does not get so low again. */
struct low {
	size_t at; /* behind it in the log */
	int64_t depth;
};

/* The next mark of a stream of the thread. */
struct next_mark {
	const struct stream *stream;
	struct region_cursor cursor;
	struct region_step mark;
	int64_t depth; /* beginnings less ends so far, as the object counts them, with lost ones */
	struct low *lows; /* owned; rising */
	size_t nr_lows, lows_room;
};

/* A region that has begun. */
struct open {
	uint32_t path;
	struct next_mark *of;
	int64_t depth; /* as marked */
	int64_t level; /* rises from the outermost one on */
};

/* A thread while its marks are read in order. */
struct thread {
	struct profile_regions *r;
	struct region_thread *to;
	struct open stack[PROFILE_MAX_REGION_DEPTH];
	size_t depth, nr_steps;
	uint32_t pid;
	bool is_paused;
	struct next_mark *streams, *next; /* next: of the current mark */
	size_t nr_streams;
	int64_t level; /* the sum of the streams' depths */
	/* read at the next mark of the object; added if that makes a step */
	struct region_step counts[PROFILE_MAX_REGION_COUNTS];
	size_t nr_counts;
};

/* The number of a name's text and 1; 0: it has none. */
static uint32_t text_of(const struct profile_regions *r, uint32_t number)
{
	const struct name *name = dict_at(&r->names, dict_find(&r->names, &number));

	return name ? name->text + 1 : 0;
}

const char *profile_regions_text(const struct profile_regions *r, uint32_t what)
{
	return what ? dict_text(&r->texts, what - 1) : "[unknown]";
}

const char *profile_regions_find_name(const struct profile_regions *r, uint32_t number)
{
	uint32_t text = text_of(r, number);

	return text ? profile_regions_text(r, text) : NULL;
}

static uint32_t find_path(struct profile_regions *r, uint32_t parent, uint32_t number)
{
	struct path key = {.parent = parent, .name = text_of(r, number)}, *path;
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
		    .name = profile_regions_text(r, key.name),
		};
	}
	return at + 1;
}

static uint32_t innermost(const struct thread *t)
{
	return t->depth ? t->stack[t->depth - 1].path : PROFILE_NO_REGION;
}

/* before: the innermost path until then. 0 or -ENOMEM. */
static int add_step(struct thread *t, const struct region_step *mark, enum region_step_kind kind,
		    uint32_t what, uint32_t before, bool was_paused)
{
	struct region_thread *to = t->to;
	struct region_step step = {
	    .time_ns = mark->time_ns, .value = mark->value, .what = what, .kind = kind};

	if (t->nr_steps++ % STEPS_PER_PLACE == 0) {
		struct region_place *p = MEM_ADD(to->places, to->nr_places, to->places_room);

		if (!p)
			return -ENOMEM;
		/* its time is of the step before: that of this one is read from there */
		*p = (struct region_place){to->log.last_ns, to->log.nr_bytes, before, was_paused};
	}
	return region_log_add(&to->log, &step);
}

/* The counts of a beginning or an end, before its step. 0 or -ENOMEM. */
static int add_counts(struct thread *t, uint32_t before)
{
	int rc = 0;

	for (size_t i = 0; i < t->nr_counts && rc == 0; i++)
		rc = add_step(t, &t->counts[i], REGION_STEP_COUNT, text_of(t->r, t->counts[i].what),
			      before, t->is_paused);
	t->nr_counts = 0;
	return rc;
}

static int keep_count(struct thread *t, const struct region_step *m)
{
	if (t->nr_counts < PROFILE_MAX_REGION_COUNTS)
		t->counts[t->nr_counts++] = *m;
	return 0;
}

/* The outermost open region that is at least as deep; t->depth: there is none. */
static size_t find_open(const struct thread *t, int64_t level)
{
	return ORDER_FIRST(i, t->depth, t->stack[i].level >= level);
}

/* How much deeper a mark is than its object was, of which it has the low 16 bits. */
static int64_t deeper(int64_t depth, const struct region_step *m)
{
	uint16_t more = (uint16_t)(m->depth - (uint64_t)depth);

	return more < 0x8000 ? more : more - 0x10000;
}

/* An object knows its own marks alone, and writes its beginnings less its ends; an end belongs to
 * the innermost region of the thread, whichever object began it. So the sum over the objects says
 * how deep a mark is. */
static void count_depth(struct thread *t, const struct region_step *m)
{
	int64_t by = deeper(t->next->depth, m);

	t->next->depth += by;
	t->level += by;
}

/* 0 or -ENOMEM. */
static int find_lows(struct next_mark *n)
{
	struct region_cursor cursor = {.log = &n->stream->log};
	struct region_step m;
	int64_t depth = 0;

	while (region_log_next(&cursor, &m)) {
		bool is_end = m.kind == TRACE_MARK_END;
		struct low *low;

		if (!is_end && m.kind != TRACE_MARK_BEGIN && m.kind != TRACE_MARK_BEGIN_NUMBER)
			continue;
		depth += deeper(depth, &m) + !is_end;
		if (!is_end)
			continue;
		while (n->nr_lows && n->lows[n->nr_lows - 1].depth >= depth)
			n->nr_lows--;
		low = MEM_ADD(n->lows, n->nr_lows, n->lows_room);
		if (!low)
			return -ENOMEM;
		*low = (struct low){cursor.at, depth};
	}
	return 0;
}

/* Whether an end of the object that is still to come leaves it that low. */
static bool gets_to(const struct next_mark *n, int64_t depth)
{
	size_t i = ORDER_FIRST(k, n->nr_lows, n->lows[k].at > n->cursor.at);

	return i < n->nr_lows && n->lows[i].depth <= depth;
}

/* The mark ends a region of its own object with regions of others inside: these were left open (by
 * longjmp or dlclose: nothing ends them later), or their ends were lost. Else it ends the innermost
 * one, and the other object the one around it. */
static void skip_left_open(struct thread *t)
{
	struct next_mark *own = t->next;
	size_t first = t->depth;
	int64_t nr_own = 0;

	while (first && (t->stack[first - 1].of != own || t->stack[first - 1].depth != own->depth))
		first--;
	if (!first)
		return;
	for (size_t i = 0; i < first; i++)
		nr_own += t->stack[i].of == own;
	for (size_t i = first; i < t->depth; i++) {
		const struct open *o = &t->stack[i];

		if (o->of != own && !o->of->stream->has_lost &&
		    (gets_to(o->of, o->depth) || gets_to(own, own->depth - nr_own)))
			return;
	}
	for (size_t i = first; i < t->depth; i++) {
		struct next_mark *of = t->stack[i].of;

		of->depth -= of != own && of->stream->has_lost;
	}
	t->level = t->stack[first - 1].level;
}

/* 0 or -ENOMEM. */
static int close_to(struct thread *t, const struct region_step *m, size_t depth)
{
	uint32_t before = innermost(t);
	const struct region_step bare = {.time_ns = m->time_ns};

	if (t->depth <= depth)
		return 0;
	t->r->stats.nr_closed += t->depth - depth;
	t->depth = depth;
	return add_step(t, &bare, REGION_STEP_CLOSE, innermost(t), before, t->is_paused);
}

/* A region of the same depth has ended: its end was lost. */
static int begin_region(struct thread *t, const struct region_step *m)
{
	uint32_t parent, path;
	int rc;

	count_depth(t, m);
	rc = close_to(t, m, find_open(t, t->level));
	if (rc)
		return rc;
	t->next->depth++;
	t->level++;
	parent = innermost(t);
	if (t->depth == PROFILE_MAX_REGION_DEPTH) {
		t->r->stats.has_left_out = true;
		return 0;
	}
	path = find_path(t->r, parent, m->what);
	if (path == parent) /* there are too many paths: it is part of its parent */
		return 0;
	rc = add_counts(t, parent);
	if (rc)
		return rc;
	t->stack[t->depth++] = (struct open){
	    .path = path, .of = t->next, .depth = t->next->depth - 1, .level = t->level - 1};
	return add_step(t, m,
			m->kind == TRACE_MARK_BEGIN ? REGION_STEP_BEGIN : REGION_STEP_BEGIN_NUMBER,
			path, parent, t->is_paused);
}

/* Also ends the regions inside, whose ends were lost. */
static int end_marked(struct thread *t, const struct region_step *m)
{
	uint32_t before = innermost(t), path;
	size_t at;
	int rc = 0;

	count_depth(t, m);
	skip_left_open(t);
	at = find_open(t, t->level);
	if (at == t->depth || t->stack[at].level != t->level) {
		t->r->stats.nr_unmatched++;
		return close_to(t, m, at);
	}
	path = t->stack[at].path;
	if (t->stack[at].of == t->next) /* other objects have other counters */
		rc = add_counts(t, before);
	t->r->stats.nr_closed += t->depth - at - 1;
	t->depth = at;
	return rc ?: add_step(t, m, REGION_STEP_END, path, before, t->is_paused);
}

static int pause_thread(struct thread *t, const struct region_step *m)
{
	bool was_paused = t->is_paused;

	t->is_paused = m->kind == TRACE_MARK_PAUSE_THREAD;
	if (t->is_paused == was_paused)
		return 0;
	return add_step(t, m, t->is_paused ? REGION_STEP_PAUSE : REGION_STEP_RESUME, 0,
			innermost(t), was_paused);
}

static int end_thread(struct thread *t, uint64_t time_ns)
{
	const struct region_step resume = {.time_ns = time_ns, .kind = TRACE_MARK_RESUME_THREAD};

	for (size_t i = 0; i < t->nr_streams; i++)
		t->streams[i].depth = 0;
	t->level = 0;
	return close_to(t, &resume, 0) ?: pause_thread(t, &resume);
}

static int add_pause(struct thread *t, const struct region_step *m)
{
	struct profile_regions *r = t->r;
	struct pause *p = MEM_ADD(r->pauses, r->nr_pauses, r->pauses_room);

	if (!p)
		return -ENOMEM;
	*p = (struct pause){m->time_ns, t->pid, m->kind == TRACE_MARK_PAUSE};
	return 0;
}

static int add_other(struct thread *t, const struct region_step *m, enum region_step_kind kind)
{
	return add_step(t, m, kind, text_of(t->r, m->what), innermost(t), t->is_paused);
}

static int set_process(struct thread *t, const struct region_step *m, uint32_t pid)
{
	const struct region_step bare = {.time_ns = m->time_ns};

	if (t->pid == pid)
		return 0;
	t->pid = pid;
	return add_step(t, &bare, REGION_STEP_PROCESS, pid, innermost(t), t->is_paused);
}

static int read_mark(struct thread *t, const struct region_step *m)
{
	switch (m->kind) {
	case TRACE_MARK_COUNT:
		return keep_count(t, m);
	case TRACE_MARK_BEGIN:
	case TRACE_MARK_BEGIN_NUMBER:
		return begin_region(t, m);
	case TRACE_MARK_END:
		return end_marked(t, m);
	case TRACE_MARK_INSTANT:
		return add_other(t, m, REGION_STEP_INSTANT);
	case TRACE_MARK_INT:
		return add_other(t, m, REGION_STEP_VALUE);
	case TRACE_MARK_PAUSE_THREAD:
	case TRACE_MARK_RESUME_THREAD:
		return pause_thread(t, m);
	case TRACE_MARK_PAUSE:
	case TRACE_MARK_RESUME:
		return add_pause(t, m);
	case TRACE_MARK_THREAD_END: /* a session with samples also has its record */
		return end_thread(t, m->time_ns);
	default:
		return 0;
	}
}

static bool is_before(const void *a, const void *b)
{
	const struct next_mark *x = a, *y = b;

	return (order_u64(x->mark.time_ns, y->mark.time_ns)
		    ?: order_u64(x->stream->number, y->stream->number)) < 0;
}

/* Ends of the thread before the time. */
static int read_ends(struct thread *t, size_t *at, uint64_t until_ns)
{
	const struct profile_regions *r = t->r;
	int rc = 0;

	for (; rc == 0 && *at < r->nr_ends && r->ends[*at].tid == t->to->tid &&
	       r->ends[*at].time_ns < until_ns;
	     ++*at)
		rc = end_thread(t, r->ends[*at].time_ns);
	return rc;
}

/* Reads the marks of all streams in order of time. */
static int read_streams(struct thread *t, struct heap *heap)
{
	size_t end = ORDER_FIRST(i, t->r->nr_ends, t->r->ends[i].tid >= t->to->tid);
	uint64_t last_ns = 0;
	int rc = 0;

	while (heap->nr && rc == 0) {
		struct next_mark *next = heap->item[0];

		last_ns = next->mark.time_ns;
		t->next = next;
		rc = read_ends(t, &end, last_ns) ?: set_process(t, &next->mark, next->stream->pid)
				?: read_mark(t, &next->mark);
		if (next->mark.kind != TRACE_MARK_COUNT)
			t->nr_counts = 0;
		if (region_log_next(&next->cursor, &next->mark))
			heap_settle(heap, is_before);
		else
			heap_pop(heap, is_before);
	}
	return rc ?: read_ends(t, &end, UINT64_MAX) ?: end_thread(t, last_ns);
}

/* Reads the marks of one thread id. */
static int read_thread(struct profile_regions *r, struct stream **streams, size_t nr)
{
	struct thread *t = mem_zalloc(sizeof(*t));
	struct next_mark *readings = mem_calloc(nr, sizeof(*readings));
	struct region_thread *to = MEM_ADD(r->threads, r->nr_threads, r->threads_room);
	struct heap heap = {.item = NULL};
	int rc = t && readings && to ? 0 : -ENOMEM;

	if (to)
		*to = (struct region_thread){.tid = streams[0]->tid};
	for (size_t i = 0; i < nr && rc == 0; i++) {
		struct next_mark *reading = &readings[i];

		*reading =
		    (struct next_mark){.stream = streams[i], .cursor = {.log = &streams[i]->log}};
		if (nr > 1)
			rc = find_lows(reading);
		if (rc == 0 && region_log_next(&reading->cursor, &reading->mark))
			rc = heap_push(&heap, reading, is_before);
	}
	if (rc == 0) {
		t->r = r;
		t->to = to;
		t->streams = readings;
		t->nr_streams = nr;
		rc = read_streams(t, &heap);
		region_log_trim(&to->log);
	}
	for (size_t i = 0; i < nr; i++) {
		region_log_fini(&streams[i]->log);
		if (readings)
			mem_free(readings[i].lows);
	}
	mem_free(heap.item);
	mem_free(readings);
	mem_free(t);
	return rc;
}

static int compare_streams(const void *a, const void *b)
{
	const struct stream *x = *(struct stream *const *)a, *y = *(struct stream *const *)b;

	return order_u64(x->tid, y->tid) ?: order_u64(x->number, y->number);
}

static int read_all(struct profile_regions *r)
{
	size_t nr = r->streams.nr, first = 0;
	struct stream **streams = mem_calloc(nr, sizeof(struct stream *));
	int rc = streams ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && rc == 0; i++)
		streams[i] = dict_at(&r->streams, (uint32_t)i);
	if (rc == 0)
		order_sort(streams, nr, sizeof(*streams), compare_streams);
	for (size_t i = 1; i <= nr && rc == 0; i++) {
		if (i < nr && streams[i]->tid == streams[first]->tid)
			continue;
		rc = read_thread(r, &streams[first], i - first);
		first = i;
	}
	mem_free(streams);
	return rc;
}

static int compare_ends(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	return order_u64(x->tid, y->tid) ?: order_u64(x->time_ns, y->time_ns);
}

/* The ends of threads, and the execs of their processes. */
static int add_ends(struct profile_regions *r, const struct profile_gathered *g)
{
	for (size_t i = 0; i < g->nr_changes; i++) {
		const struct profile_change *c = &g->changes[i];
		struct end *end;

		if ((c->kind != PROFILE_EXIT && c->kind != PROFILE_EXEC) || c->is_made)
			continue;
		end = MEM_ADD(r->ends, r->nr_ends, r->ends_room);
		if (!end)
			return -ENOMEM;
		*end = (struct end){c->time_ns, c->tid};
	}
	order_sort(r->ends, r->nr_ends, sizeof(*r->ends), compare_ends);
	return 0;
}

static int compare_pauses(const void *a, const void *b)
{
	const struct pause *x = a, *y = b;

	return order_u64(x->pid, y->pid) ?: order_u64(x->time_ns, y->time_ns);
}

int profile_regions_make(struct profile_processes *p, const struct profile_gathered *g)
{
	struct profile_regions *r = p->regions;
	int rc;

	if (!r->streams.nr)
		return 0;
	rc = add_ends(r, g) ?: read_all(r);
	drop_marks(r);
	order_sort(r->pauses, r->nr_pauses, sizeof(*r->pauses), compare_pauses);
	r->stats.nr_threads = r->nr_threads;
	p->has_left_out |= r->stats.has_left_out;
	return rc;
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

size_t profile_regions_nr_threads(const struct profile_regions *r)
{
	return r->nr_threads;
}

const struct region_thread *profile_regions_thread(const struct profile_regions *r, size_t i)
{
	return &r->threads[i];
}

/* After the steps of the thread until then: those from the last place on are read. */
static struct region_place place_at(const struct profile_processes *p, uint32_t tid,
				    uint64_t time_ns)
{
	const struct profile_regions *r = p->regions;
	size_t i = ORDER_FIRST(k, r->nr_threads, r->threads[k].tid >= tid), last;
	const struct region_thread *t = &r->threads[i];
	struct region_place place = {.time_ns = 0};
	struct region_cursor cursor;
	struct region_step step;

	if (i == r->nr_threads || t->tid != tid)
		return place;
	last = ORDER_FIRST(k, t->nr_places, t->places[k].time_ns > time_ns);
	if (!last) /* the time of the first is 0 */
		return place;
	place = t->places[last - 1];
	cursor = (struct region_cursor){&t->log, place.at, place.time_ns};
	while (region_log_next(&cursor, &step) && step.time_ns <= time_ns) {
		if (step.kind == REGION_STEP_END)
			place.path = profile_region(p, step.what)->parent;
		else if (step.kind <= REGION_STEP_CLOSE)
			place.path = step.what;
		else if (step.kind <= REGION_STEP_RESUME)
			place.is_paused = step.kind == REGION_STEP_PAUSE;
	}
	return place;
}

uint32_t profile_region_at(const struct profile_processes *p, uint32_t tid, uint64_t time_ns)
{
	return place_at(p, tid, time_ns).path;
}

bool profile_is_paused(const struct profile_processes *p, uint32_t pid, uint32_t tid,
		       uint64_t time_ns)
{
	const struct profile_regions *r = p->regions;
	size_t last = ORDER_FIRST(i, r->nr_pauses,
				  r->pauses[i].pid > pid ||
				      (r->pauses[i].pid == pid && r->pauses[i].time_ns > time_ns));
	const struct pause *process = last ? &r->pauses[last - 1] : NULL;

	return (process && process->pid == pid && process->is_paused) ||
	       place_at(p, tid, time_ns).is_paused;
}

bool *profile_regions_within(const struct profile_processes *p, const struct profile_globs *globs)
{
	enum { TEXT_BYTES = 64 << 10 };
	size_t nr = profile_nr_regions(p);
	bool *within = globs->nr ? mem_calloc(nr, sizeof(*within)) : NULL;
	BUF_AUTO(text, TEXT_BYTES);

	for (uint32_t i = 1; within && i < nr; i++) {
		const struct profile_region *r = profile_region(p, i);

		buf_reset(&text);
		profile_region_text(p, i, &text);
		within[i] = within[r->parent] || profile_globs_match(globs, r->name) ||
			    profile_globs_match(globs, buf_str(&text));
	}
	return within;
}
