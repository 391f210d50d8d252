/*
 * Regions of the page: slices of threads beside the axis of time, and what samples are grouped by.
 * The size is bounded whatever the number of calls: short calls that follow each other are drawn as
 * one, of the threads with the most time in regions, down to a depth.
 */
#include "exports/regions.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "export/digits.h"
#include "numbers.h"
#include "page/page.h"
#include "profile/regions.h"
#include "report/functions.h"
#include "trace/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_TRACKS = 40,
	MAX_DEPTH = 8,
	MAX_SLICES = 100000,
	MAX_PATHS = 2000,
	STEPS = 4096, /* of the time shown: no screen has more columns */
	TEXT_BYTES = 64 << 10,
	MAX_INSTANTS = 20000, /* of a track */
	MAX_LOOKED_AT = 16,   /* of those before it, whether one is in the same place */
	MAX_NAMES = 1 << 16,
	MAX_NAME_BYTES = 4 << 20,
	MAX_TRACK_BYTES = 64 << 20
};

/* Calls that follow each other: path 0 if they are of several. */
struct page_region_slice {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	uint32_t path, nr, nr_closed;
};

struct level {
	struct page_region_slice *slice; /* owned */
	size_t nr, room;
};

/* An instant or a value, with those of its name that are drawn in the same place. */
struct instant {
	uint64_t time_ns;
	uint32_t name, nr;
	int64_t value; /* of the first */
	bool has_value;
};

struct page_track {
	uint32_t pid, tid, thread;
	char comm[64];
	uint64_t wall_ns; /* of its outermost regions */
	size_t depth;     /* levels, also those that are not drawn */
	struct level level[MAX_DEPTH];
	struct instant *instants; /* owned */
	size_t nr_instants, instants_room;
};

/* A region as the page lists it. */
struct listed {
	const char *name; /* of the input */
	uint32_t outer;   /* the number of the one around it, from 1, or 0 */
};

struct page_regions {
	struct page *h;
	const struct profile_processes *processes; /* of the first session */
	struct dict paths;                         /* struct page_path */
	struct listed listed[MAX_PATHS];
	size_t nr_listed;
	uint32_t *of_region; /* owned; of the session being read, by region: its number */
	struct page_track *track[MAX_TRACKS + 1]; /* owned */
	size_t nr_tracks;
	bool is_open; /* more calls of the last track may follow */
	uint64_t least_ns;
	size_t nr_left;    /* threads that are not drawn */
	struct dict names; /* of instants and values */
	uint64_t nr_instants_left;
};

/* By its text, since sessions number them differently. */
struct page_path {
	uint32_t text;   /* key */
	uint32_t number; /* in the page, from 1: of itself, or of the one around it; 0: of none */
};

/* --- paths ----------------------------------------------------------------------------------- */

/* Paths beyond the limit stand for the one around them. */
static int add_path(struct page_regions *r, const struct profile_processes *p, uint32_t region)
{
	const struct profile_region *g = profile_region(p, region);
	size_t nr = r->paths.nr;
	BUF_AUTO(text, TEXT_BYTES);
	struct page_path *path;
	uint32_t key;

	profile_region_text(p, region, &text);
	key = buf_error(&text)
		  ? UINT32_MAX
		  : report_functions_text_number(r->h->j->inputs->functions, buf_str(&text));
	path = key == UINT32_MAX ? NULL : dict_get(&r->paths, &key);
	if (!path)
		return -ENOMEM;
	if (r->paths.nr > nr && r->nr_listed < MAX_PATHS) {
		r->listed[r->nr_listed++] =
		    (struct listed){.name = g->name, .outer = r->of_region[g->parent]};
		path->number = (uint32_t)r->nr_listed;
	} else if (r->paths.nr > nr) {
		path->number = r->of_region[g->parent];
	}
	r->of_region[region] = path->number;
	return 0;
}

static int add_paths(struct page_regions *r, const struct profile_processes *p)
{
	size_t nr = profile_nr_regions(p);
	int rc;

	mem_free(r->of_region);
	r->of_region = mem_calloc(nr + 1, sizeof(*r->of_region));
	rc = r->of_region ? 0 : -ENOMEM;
	for (uint32_t i = 1; i < nr && rc == 0; i++)
		if (!profile_region_is_trial(p, i))
			rc = add_path(r, p, i);
	return rc;
}

uint32_t page_regions_find(const struct page_regions *r, uint32_t text)
{
	const struct page_path *path = r ? dict_at(&r->paths, dict_find(&r->paths, &text)) : NULL;

	return path ? path->number : 0;
}

/* --- slices ---------------------------------------------------------------------------------- */

/* Joins neighbours that together are shorter than the least. */
static void join(struct level *l, uint64_t least_ns)
{
	size_t to = 0;

	for (size_t i = 1; i < l->nr; i++) {
		struct page_region_slice *last = &l->slice[to], *s = &l->slice[i];

		if (s->end_ns - last->begin_ns >= least_ns) {
			l->slice[++to] = *s;
			continue;
		}
		last->end_ns = s->end_ns;
		last->path = last->path == s->path ? s->path : 0;
		last->nr += s->nr;
		last->nr_closed += s->nr_closed;
	}
	l->nr = l->nr ? to + 1 : 0;
}

static size_t nr_slices_of(const struct page_track *t)
{
	size_t nr = 0;

	for (size_t i = 0; i < MAX_DEPTH; i++)
		nr += t->level[i].nr;
	return nr;
}

static void free_track(struct page_track *t)
{
	for (size_t i = 0; t && i < MAX_DEPTH; i++)
		mem_free(t->level[i].slice);
	if (t)
		mem_free(t->instants);
	mem_free(t);
}

/* The last track is whole: removes the one of the least time, if they are too many, and makes
 * slices longer until there are not too many. */
static void end_track(struct page_regions *r)
{
	size_t least = 0, nr;

	for (size_t i = 1; i < r->nr_tracks; i++)
		if (r->track[i]->wall_ns < r->track[least]->wall_ns)
			least = i;
	if (r->nr_tracks > MAX_TRACKS) {
		free_track(r->track[least]);
		r->track[least] = r->track[--r->nr_tracks];
		r->nr_left++;
	}
	for (;;) {
		nr = 0;
		for (size_t i = 0; i < r->nr_tracks; i++)
			nr += nr_slices_of(r->track[i]);
		if (nr <= MAX_SLICES)
			return;
		r->least_ns *= 2;
		for (size_t i = 0; i < r->nr_tracks; i++)
			for (size_t k = 0; k < MAX_DEPTH; k++)
				join(&r->track[i]->level[k], r->least_ns);
	}
}

/* The thread of the event; the one before is whole if it is another. */
static struct page_track *find_track(struct page_regions *r, const struct profile_region_event *e)
{
	struct page_track *t = r->is_open ? r->track[r->nr_tracks - 1] : NULL;

	if (t && t->pid == e->pid && t->tid == e->tid)
		return t;
	if (t)
		end_track(r);
	t = mem_zalloc(sizeof(*t));
	if (!t)
		return NULL;
	t->pid = e->pid;
	t->tid = e->tid;
	t->thread = e->task->thread == TRACE_UNKNOWN ? 0 : e->task->thread;
	snprintf(t->comm, sizeof(t->comm), "%s", e->task->comm->name);
	r->track[r->nr_tracks++] = t;
	r->is_open = true;
	return t;
}

/* 0: it has been added, or is too much. */
static int add_instant(struct page_regions *r, const struct profile_region_event *e)
{
	struct page_track *t = find_track(r, e);
	uint32_t name = t ? dict_add(&r->names, e->name) : DICT_NONE;
	struct instant *to = NULL;

	if (!t || (name == DICT_NONE && r->names.nr < MAX_NAMES))
		return -ENOMEM;
	for (size_t i = t->nr_instants; i-- > 0 && !to;) {
		struct instant *n = &t->instants[i];

		if (e->time_ns - n->time_ns >= r->least_ns || i + MAX_LOOKED_AT < t->nr_instants)
			break;
		to = n->name == name && n->has_value == e->has_value ? n : NULL;
	}
	if (to) {
		to->nr++;
		return 0;
	}
	if (name == DICT_NONE || t->nr_instants == MAX_INSTANTS) {
		r->nr_instants_left++;
		return 0;
	}
	to = MEM_ADD(t->instants, t->nr_instants, t->instants_room);
	if (!to)
		return -ENOMEM;
	*to = (struct instant){e->time_ns, name, 1, e->value, e->has_value};
	return 0;
}

static int add_call(void *arg, const struct profile_region_event *e)
{
	struct page_regions *r = arg;
	const struct page_region_slice s = {e->begin_ns, e->time_ns, r->of_region[e->region], 1,
					    e->is_closed};
	uint32_t depth = profile_region(r->processes, e->region)->depth;
	struct page_track *t;
	struct level *l;

	if (e->kind == PROFILE_REGION_INSTANT || e->kind == PROFILE_REGION_VALUE)
		return add_instant(r, e);
	if (e->kind != PROFILE_REGION_END)
		return 0;
	t = find_track(r, e);
	if (!t)
		return -ENOMEM;
	t->wall_ns += depth ? 0 : e->time_ns - e->begin_ns;
	t->depth = depth + 1 > t->depth ? depth + 1 : t->depth;
	if (depth >= MAX_DEPTH)
		return 0;
	l = &t->level[depth];
	if (l->nr == l->room)
		join(l, r->least_ns);
	if (2 * l->nr >= l->room) { /* so that joining is rare */
		size_t room = l->room ? 2 * l->room : 256;
		struct page_region_slice *more = mem_resize(l->slice, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		l->slice = more;
		l->room = room;
	}
	l->slice[l->nr++] = s;
	return 0;
}

int page_regions_read(struct page *h, struct err *e)
{
	const struct inputs *in = h->j->inputs;
	struct page_regions *r;
	uint64_t start_ns, end_ns;
	bool has_common = false, has_marks = false;
	int rc;

	for (size_t i = 0; i < in->nr + in->nr_diff; i++)
		has_common |= input_has_common(&in->item[i]);
	if (!has_common)
		return 0;
	rc = samples_load_names(h->j, e);

	for (size_t i = 0; i < in->nr + in->nr_diff && rc == 0; i++) {
		h->has_regions |= profile_nr_regions(in->item[i].processes) > 1;
		has_marks |= profile_regions_stats(in->item[i].processes)->nr_marks > 0;
	}
	if (rc || (!has_marks && !h->has_regions))
		return rc;
	h->regions = r = mem_zalloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->h = h;
	r->processes = job_input(h->j)->processes;
	dict_init(&r->paths, sizeof(struct page_path), DICT_KEY(struct page_path, text), DICT_MAX);
	dict_init_texts(&r->names, sizeof(const char *), MAX_NAMES, MAX_NAME_BYTES);
	page_time_shown(h, &start_ns, &end_ns);
	r->least_ns = (end_ns - start_ns) / STEPS + 1;
	for (size_t i = in->nr + in->nr_diff; i-- > 0 && rc == 0;) /* the first one last */
		rc = add_paths(r, in->item[i].processes);
	rc = rc ?: export_regions(h->j, job_input(h->j), add_call, r, e);
	if (rc == 0 && r->is_open)
		end_track(r);
	return rc;
}

void page_regions_free(struct page_regions *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nr_tracks; i++)
		free_track(r->track[i]);
	mem_free(r->of_region);
	dict_fini(&r->paths);
	dict_fini(&r->names);
	mem_free(r);
}

/* --- writing --------------------------------------------------------------------------------- */

static void put_slices(const struct page_regions *r, struct level *l, struct buf *out)
{
	uint64_t at = job_input(r->h->j)->start_ns;

	join(l, r->least_ns);
	export_digits_add(out, l->nr);
	for (size_t i = 0; i < l->nr; i++) {
		const struct page_region_slice *s = &l->slice[i];
		uint64_t begin = s->begin_ns > at ? s->begin_ns : at;
		uint64_t end = s->end_ns > begin ? s->end_ns : begin;

		export_digits_add(out, begin - at);
		export_digits_add(out, end - begin);
		export_digits_add(out, s->path);
		export_digits_add(out, 2 * (uint64_t)(s->nr - 1) + (s->nr_closed > 0));
		at = end;
	}
}

static void put_instants(const struct page_regions *r, const struct page_track *t, struct buf *out)
{
	uint64_t at = job_input(r->h->j)->start_ns;

	for (size_t i = 0; i < t->nr_instants; i++) {
		const struct instant *n = &t->instants[i];
		uint64_t time_ns = n->time_ns > at ? n->time_ns : at;
		bool is_negative = n->value < 0;

		export_digits_add(out, time_ns - at);
		export_digits_add(out, n->name);
		export_digits_add(out, n->nr - 1);
		export_digits_add(out, n->has_value ? 1 + is_negative : 0);
		if (n->has_value)
			export_digits_add(out,
					  is_negative ? -(uint64_t)n->value : (uint64_t)n->value);
		at = time_ns;
	}
}

static int put_track(const struct page_regions *r, struct page_track *t, struct err *e)
{
	struct json_writer *j = &r->h->json;
	BUF_AUTO(slices, MAX_TRACK_BYTES);
	BUF_AUTO(instants, MAX_TRACK_BYTES);
	size_t depth = t->depth < MAX_DEPTH ? t->depth : MAX_DEPTH;

	for (size_t i = 0; i < depth; i++)
		put_slices(r, &t->level[i], &slices);
	put_instants(r, t, &instants);
	if (buf_error(&slices) || buf_error(&instants))
		return buf_error(&slices) ?: buf_error(&instants);
	JSONW_OBJECT(j, NULL) {
		jsonw_text(j, "comm", t->comm);
		jsonw_u64(j, "pid", t->pid);
		jsonw_u64(j, "tid", t->tid);
		jsonw_u64(j, "number", t->thread);
		jsonw_u64(j, "depth", depth);
		jsonw_text(j, "slices", buf_str(&slices));
		jsonw_text(j, "instants", buf_str(&instants));
	}
	return page_flush(r->h, e);
}

static int compare_tracks(const void *a, const void *b)
{
	const struct page_track *x = *(struct page_track *const *)a;
	const struct page_track *y = *(struct page_track *const *)b;

	return -order_u64(x->wall_ns, y->wall_ns) ?: order_u64(x->tid, y->tid);
}

/* What the page omits; what is not as the program marked it stands among what is unread. */
static void put_notes(const struct page_regions *r)
{
	struct page *h = r->h;
	size_t deepest = 0;

	for (size_t i = 0; i < r->nr_tracks; i++)
		deepest = r->track[i]->depth > deepest ? r->track[i]->depth : deepest;
	if (r->nr_instants_left)
		page_note(h, PAGE_NOTE, "%" PRIu64 " more instants and values are not drawn.",
			  r->nr_instants_left);
	page_note(h, PAGE_NOTE,
		  "Calls of regions that together are shorter than %s are drawn as one.",
		  HUMAN((double)r->least_ns, "ns"));
	if (r->nr_left)
		page_note(h, PAGE_NOTE,
			  "Regions of %zu more threads are omitted: those shown have the most time "
			  "in regions.",
			  r->nr_left);
	if (deepest > MAX_DEPTH)
		page_note(h, PAGE_NOTE, "Regions within more than %d others are not drawn.",
			  MAX_DEPTH - 1);
	if (r->nr_listed == MAX_PATHS && r->paths.nr > MAX_PATHS)
		page_note(h, PAGE_NOTE, "%zu more regions stand for those around them.",
			  r->paths.nr - MAX_PATHS);
	if (h->j->nr > 1)
		page_note(h, PAGE_NOTE, "Regions over time are those of the first session.");
}

int page_regions_put(struct page *h, struct err *e)
{
	struct page_regions *r = h->regions;
	int rc = 0;

	JSONW_ARRAY(&h->json, "regions") {
		for (size_t i = 0; r && i < r->nr_listed && rc == 0; i++) {
			JSONW_OBJECT(&h->json, NULL) {
				jsonw_text(&h->json, "name", r->listed[i].name);
				jsonw_u64(&h->json, "outer", r->listed[i].outer);
			}
			rc = page_flush(h, e);
		}
	}
	JSONW_ARRAY(&h->json, "marks") {
		for (uint32_t i = 0; r && i < r->names.nr && rc == 0; i++) {
			jsonw_text(&h->json, NULL, dict_text(&r->names, i));
			rc = page_flush(h, e);
		}
	}
	if (r)
		order_sort(r->track, r->nr_tracks, sizeof(r->track[0]), compare_tracks);
	JSONW_ARRAY(&h->json, "tracks") {
		for (size_t i = 0; r && i < r->nr_tracks && rc == 0; i++)
			rc = put_track(r, r->track[i], e);
	}
	if (r && rc == 0)
		put_notes(r);
	return rc;
}
