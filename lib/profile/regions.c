/*
 * From marks to regions, and the lookup of the region of a thread at a time. Must not trust a mark:
 * not its order, its name or its thread.
 */
#include "profile/regions.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "profile/region_labels.h"
#include "profile/region_streams.h"
#include "profile/regions_internal.h"
#include "trace/nesting.h"
#include "trace/reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_NAMES = 1 << 20,
	MAX_NAME_BYTES = 64 << 20,
	STEPS_PER_PLACE = 64,
	LABEL_BYTES = 1024, /* a key and its value; safe to show they may be longer */
};

/* From this time on the process is paused, or not. */
struct pause {
	uint64_t time_ns;
	uint32_t pid;
	uint32_t parent; /* the process began, by fork of that one; 0: it was marked */
	bool is_paused;
};

struct paused {
	uint32_t pid; /* key */
	bool is_paused;
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
	struct region_streams streams; /* only while it is made */
	struct dict paths;             /* struct path; number - 1 */
	struct region_labels labels;
	struct region_thread *threads; /* owned; by tid */
	size_t nr_threads, threads_room;
	struct pause *pauses; /* owned; by pid, then time */
	size_t nr_pauses, pauses_room;
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
	region_streams_init(&r->streams);
	dict_init(&r->paths, sizeof(struct path), DICT_KEY(struct path, name), PROFILE_MAX_REGIONS);
	region_labels_init(&r->labels);
	return r;
}

void profile_regions_free(struct profile_regions *r)
{
	if (!r)
		return;
	region_streams_fini(&r->streams);
	dict_fini(&r->names);
	dict_fini(&r->texts);
	dict_fini(&r->notes);
	dict_fini(&r->paths);
	region_labels_fini(&r->labels);
	for (size_t i = 0; i < r->nr_threads; i++) {
		region_log_fini(&r->threads[i].log);
		mem_free(r->threads[i].places);
	}
	mem_free(r->threads);
	mem_free(r->pauses);
	mem_free(r);
}

/* Whether what is stored has reached a limit, so that it cannot have that name. */
static bool is_full(const struct profile_regions *r, const char *text)
{
	return r->texts.nr >= MAX_NAMES || r->names.nr >= MAX_NAMES ||
	       !arena_has_room(&r->texts.texts, strlen(text) + 1);
}

/* A number that is named again keeps its name. */
int profile_regions_name(struct profile_regions *r, const struct trace_mark_name *n)
{
	uint32_t text = dict_add(&r->texts, n->text);
	size_t nr = r->names.nr;
	struct name *name = text == DICT_NONE ? NULL : dict_get(&r->names, &n->number);

	if (!name && !is_full(r, n->text))
		return -ENOMEM;
	r->stats.has_unnamed |= !name;
	if (name && r->names.nr > nr)
		name->text = text;
	return 0;
}

/* By the program: counts belong to a mark, ends and names of threads may be the recorder's. */
static bool is_written(uint32_t kind)
{
	return kind != TRACE_MARK_COUNT && kind != TRACE_MARK_THREAD_END &&
	       kind != TRACE_MARK_THREAD_NAME;
}

int profile_regions_add(struct profile_regions *r, const struct trace_marks *marks)
{
	int rc = region_streams_add(&r->streams, marks);

	r->stats.has_left_out |= rc == -ENOSPC;
	for (size_t i = 0; i < marks->nr; i++)
		r->stats.nr_marks += is_written(marks->mark[i].kind);
	r->stats.nr_lost += marks->lost;
	return rc == -ENOSPC ? 0 : rc;
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

/* A thread while its marks are read in order. */
struct thread {
	struct profile_regions *r;
	struct region_thread *to;
	struct nesting nest;
	uint32_t path[NESTING_MAX]; /* of each open region */
	size_t depth, nr_steps;
	uint32_t pid;
	bool is_paused;
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

static struct path *path_at(const struct profile_regions *r, uint32_t number)
{
	return dict_at(&r->paths, number - 1);
}

/* name: the number of its text and 1. */
static uint32_t find_path(struct profile_regions *r, uint32_t parent, uint32_t name)
{
	struct path key = {.parent = parent, .name = name}, *path;
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

/* To the set that was begun last. 0, -EFBIG or -ENOMEM. */
static int add_label(struct profile_regions *r, const char *key, const char *value)
{
	char name[LABEL_BYTES];
	uint32_t text;

	snprintf(name, sizeof(name), "%s=%s", key, value);
	str_disarm(name);
	text = dict_add(&r->texts, name);
	if (text == DICT_NONE)
		return is_full(r, name) ? -EFBIG : -ENOMEM;
	return region_labels_add(&r->labels, key, text + 1);
}

/* The end of a text with a zero byte behind it; NULL: it has none. */
static const uint8_t *end_of(const uint8_t *text, const uint8_t *end)
{
	return text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
}

int profile_regions_add_labels(struct profile_regions *r, const struct trace_code *code)
{
	const uint8_t *at = code->lines, *end = at + code->lines_bytes, *value, *next;
	int rc = 0;

	/* a number that is defined again has the same labels */
	if (code->language != TRACE_LANGUAGE_GO ||
	    !region_labels_begin(&r->labels, code->number, &rc))
		at = end;
	for (; rc == 0 && (value = end_of(at, end)) != NULL; at = next + 1) {
		next = end_of(++value, end);
		if (!next)
			break;
		rc = add_label(r, (const char *)at, (const char *)value);
	}
	r->stats.has_left_out |= rc == -EFBIG;
	return rc == -EFBIG ? 0 : rc;
}

/* A set is a path; another one than before if sets came that say so. */
static void make_labels(struct profile_regions *r)
{
	region_labels_order(&r->labels);
	for (uint32_t i = 0; i < r->labels.sets.nr; i++) {
		struct region_label_set *s = dict_at(&r->labels.sets, i);

		s->path = PROFILE_NO_REGION;
		for (uint64_t k = s->first; k < s->first + s->nr; k++) {
			const uint32_t parent = s->path;

			s->path = find_path(r, parent, r->labels.label[k].text);
			if (s->path != parent)
				path_at(r, s->path)->region.is_label = true;
		}
	}
}

static uint32_t innermost(const struct thread *t)
{
	return t->depth ? t->path[t->depth - 1] : PROFILE_NO_REGION;
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

	t->r->stats.has_counts |= t->nr_counts != 0;
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

static int begin_region(struct thread *t, const struct region_mark *m)
{
	uint32_t parent, path;
	int rc = close_to(t, &m->step, nesting_begin(&t->nest, m->object, m->depth));

	if (rc)
		return rc;
	parent = innermost(t);
	if (t->depth == NESTING_MAX) {
		t->r->stats.has_left_out = true;
		return 0;
	}
	path = find_path(t->r, parent, text_of(t->r, m->step.what));
	if (path == parent) /* there are too many paths: it is part of its parent */
		return 0;
	rc = add_counts(t, parent) ?: nesting_push(&t->nest, m->object);
	if (rc)
		return rc;
	t->path[t->depth++] = path;
	return add_step(t, &m->step,
			m->step.kind == TRACE_MARK_BEGIN ? REGION_STEP_BEGIN
							 : REGION_STEP_BEGIN_NUMBER,
			path, parent, t->is_paused);
}

/* Also ends the regions inside, whose ends were lost. */
static int end_marked(struct thread *t, const struct region_mark *m)
{
	struct nesting_end end = nesting_end(&t->nest, m->object, m->depth);
	uint32_t before = innermost(t);
	int rc = 0;

	if (!end.is_matched) {
		t->r->stats.nr_unmatched++;
		return close_to(t, &m->step, end.keep);
	}
	if (end.is_own) /* other objects have other counters */
		rc = add_counts(t, before);
	t->r->stats.nr_closed += t->depth - end.keep - 1;
	t->depth = end.keep;
	return rc
		   ?: add_step(t, &m->step, REGION_STEP_END, t->path[end.keep], before,
			       t->is_paused);
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

	nesting_reset(&t->nest);
	return close_to(t, &resume, 0) ?: pause_thread(t, &resume);
}

static int add_pause(struct thread *t, const struct region_step *m)
{
	struct profile_regions *r = t->r;
	struct pause *p = MEM_ADD(r->pauses, r->nr_pauses, r->pauses_room);

	if (!p)
		return -ENOMEM;
	*p = (struct pause){
	    .time_ns = m->time_ns, .pid = t->pid, .is_paused = m->kind == TRACE_MARK_PAUSE};
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

static int read_mark(struct thread *t, const struct region_mark *mark)
{
	const struct region_step *m = &mark->step;

	switch (m->kind) {
	case TRACE_MARK_COUNT:
		return keep_count(t, m);
	case TRACE_MARK_BEGIN:
	case TRACE_MARK_BEGIN_NUMBER:
		return begin_region(t, mark);
	case TRACE_MARK_END:
		return end_marked(t, mark);
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

/* --- of region_streams_read ------------------------------------------------------------------ */

static int begin_thread(void *arg, uint32_t tid, const struct nesting *nest)
{
	struct thread *t = arg;

	t->to = MEM_ADD(t->r->threads, t->r->nr_threads, t->r->threads_room);
	if (!t->to)
		return -ENOMEM;
	*t->to = (struct region_thread){.tid = tid};
	nesting_fini(&t->nest);
	t->nest = *nest;
	t->depth = t->nr_steps = t->nr_counts = 0;
	t->pid = 0;
	t->is_paused = false;
	return 0;
}

static int add_mark(void *arg, const struct region_mark *m)
{
	struct thread *t = arg;
	int rc = set_process(t, &m->step, m->pid) ?: read_mark(t, m);

	if (m->step.kind != TRACE_MARK_COUNT)
		t->nr_counts = 0;
	return rc;
}

static int add_end(void *arg, uint64_t time_ns)
{
	return end_thread(arg, time_ns);
}

static int end_log(void *arg)
{
	region_log_trim(&((struct thread *)arg)->to->log);
	return 0;
}

static int read_all(struct profile_regions *r)
{
	struct thread *t = mem_zalloc(sizeof(*t));
	const struct region_streams_reader reader = {
	    .arg = t, .begin = begin_thread, .mark = add_mark, .end = add_end, .done = end_log};
	int rc = -ENOMEM;

	if (t) {
		t->r = r;
		rc = region_streams_read(&r->streams, &reader);
		nesting_fini(&t->nest);
	}
	mem_free(t);
	return rc;
}

static int compare_pauses(const void *a, const void *b)
{
	const struct pause *x = a, *y = b;

	return order_u64(x->pid, y->pid) ?: order_u64(x->time_ns, y->time_ns);
}

static int compare_times(const void *a, const void *b)
{
	const struct pause *x = a, *y = b;

	return order_u64(x->time_ns, y->time_ns);
}

static int add_forks(struct profile_regions *r, const struct profile_gathered *g)
{
	for (size_t i = 0; i < g->nr_changes; i++) {
		const struct profile_change *c = &g->changes[i];
		struct pause *p;

		if (c->kind != PROFILE_FORK || c->is_made || c->tid != c->pid || !c->what)
			continue;
		p = MEM_ADD(r->pauses, r->nr_pauses, r->pauses_room);
		if (!p)
			return -ENOMEM;
		*p = (struct pause){.time_ns = c->time_ns, .pid = c->pid, .parent = c->what};
	}
	return 0;
}

/* A child is paused as its parent was at the fork: both resume by the same code. */
static int inherit_pauses(struct profile_regions *r, const struct profile_gathered *g)
{
	struct dict states;
	int rc = r->nr_pauses ? add_forks(r, g) : 0;

	dict_init(&states, sizeof(struct paused), DICT_KEY(struct paused, pid), r->nr_pauses);
	order_sort(r->pauses, r->nr_pauses, sizeof(*r->pauses), compare_times);
	for (size_t i = 0; i < r->nr_pauses && rc == 0; i++) {
		struct pause *p = &r->pauses[i];
		const struct paused *parent = dict_at(&states, dict_find(&states, &p->parent));
		struct paused *own;

		if (p->parent)
			p->is_paused = parent && parent->is_paused;
		own = dict_get(&states, &p->pid);
		if (own)
			own->is_paused = p->is_paused;
		else
			rc = -ENOMEM;
	}
	dict_fini(&states);
	order_sort(r->pauses, r->nr_pauses, sizeof(*r->pauses), compare_pauses);
	return rc;
}

int profile_regions_make(struct profile_processes *p, const struct profile_gathered *g,
			 const struct profile_session *session)
{
	struct profile_regions *r = p->regions;
	int rc;

	make_labels(r);
	p->has_left_out |= r->stats.has_left_out;
	if (!region_streams_nr(&r->streams))
		return 0;
	rc = (session ? profile_spans_read(&p->spans, session) : 0)
		 ?: profile_spans_switch(&p->spans, &g->switches);
	r->streams.end_ns = p->spans.end_ns;
	rc = rc ?: region_streams_add_ends(&r->streams, g) ?: read_all(r) ?: inherit_pauses(r, g);
	region_streams_fini(&r->streams);
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
	struct region_place place = {.time_ns = 0};
	const struct region_thread *t;
	struct region_cursor cursor;
	struct region_step step;

	if (i == r->nr_threads || r->threads[i].tid != tid)
		return place;
	t = &r->threads[i];
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

bool profile_region_is_trial_name(const char *name)
{
	return strcmp(name, PROFILE_REGION_TRIAL) == 0 ||
	       strcmp(name, PROFILE_REGION_TRIAL_INNER) == 0;
}

bool profile_region_is_trial(const struct profile_processes *p, uint32_t number)
{
	return profile_region_is_trial_name(profile_region(p, number)->name);
}

uint32_t profile_region_at(const struct profile_processes *p, uint32_t tid, uint64_t time_ns)
{
	uint32_t path = place_at(p, tid, time_ns).path;

	while (profile_region_is_trial(p, path))
		path = profile_region(p, path)->parent;
	return path;
}

uint32_t profile_region_of(const struct profile_processes *p, uint32_t tid, uint64_t time_ns,
			   uint64_t labels)
{
	const struct dict *sets = &p->regions->labels.sets;
	const struct region_label_set *s = labels ? dict_at(sets, dict_find(sets, &labels)) : NULL;

	return s && s->path ? s->path : profile_region_at(p, tid, time_ns);
}

bool profile_has_labels(const struct profile_processes *p)
{
	return p->regions->labels.sets.nr > 0;
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
