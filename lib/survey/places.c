/*
 * A list; searches are linear, as files are added rarely. Folders of other users may change at any
 * rate: what a name in them means is not looked at unless it is one of the list's.
 */
#include "survey/places.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
	CHANGES = IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE,
	EVENTS_BYTES = 64 << 10,
	MAX_READS = 16, /* at a time */
};

void survey_places_init(struct survey_places *p, const struct root *root)
{
	*p = (struct survey_places){.root = root, .fd = -1};
	arena_init(&p->paths, SURVEY_PLACES_TEXT_BYTES);
}

void survey_places_fini(struct survey_places *p)
{
	io_close(&p->fd);
	arena_fini(&p->paths);
	mem_free(p->item);
	p->item = NULL;
	p->nr = p->room = 0;
}

static int watch_folder(struct survey_places *p, const char *path)
{
	char folder[sizeof(p->root->dir) + PATH_MAX];

	if (!p->nr_watched++)
		p->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (p->fd < 0)
		return -1;
	snprintf(folder, sizeof(folder), "%s%.*s", p->root->dir, (int)(str_base_name(path) - path),
		 path);
	return inotify_add_watch(p->fd, folder, CHANGES | IN_ONLYDIR);
}

static struct survey_place *find(const struct survey_places *p,
				 const struct survey_identify_question *q)
{
	for (size_t i = 0; i < p->nr; i++) {
		struct survey_place *at = &p->item[i];

		if (at->inode == q->inode && at->major == q->major && at->minor == q->minor &&
		    strcmp(at->path, q->path) == 0)
			return at;
	}
	return NULL;
}

static struct survey_place *make(struct survey_places *p, const struct survey_identify_question *q,
				 const struct elf_build_id *id)
{
	const char *path = p->nr < SURVEY_MAX_PLACES ? arena_strdup(&p->paths, q->path) : NULL;
	struct survey_place *at = path ? MEM_ADD(p->item, p->nr, p->room) : NULL;

	if (!at)
		return NULL;
	*at = (struct survey_place){.inode = q->inode,
				    .generation = q->generation,
				    .major = q->major,
				    .minor = q->minor,
				    .id = *id,
				    .path = path,
				    .watch = watch_folder(p, path)};
	return at;
}

void survey_places_add(struct survey_places *p, const struct survey_identify_question *q,
		       const struct elf_build_id *id)
{
	struct survey_place *at = find(p, q) ?: make(p, q, id);
	const size_t i = at && at->by[0].pid;

	if (!at)
		return;
	at->by[i].pid = q->pid;
	at->by[i].start = q->start;
	at->by[i].end = q->end;
}

/* Asks about each of its processes. True: it was removed; another one has its place in the list. */
static bool ask(struct survey_places *p, size_t i, survey_places_fn *fn, void *arg)
{
	const struct survey_place at = p->item[i];
	struct survey_identify_question q = {
	    .inode = at.inode, .generation = at.generation, .major = at.major, .minor = at.minor};
	bool is_moved = false;

	snprintf(q.path, sizeof(q.path), "%s", at.path);
	for (size_t k = 0; k < SURVEY_PLACE_MAPPERS && at.by[k].pid && (is_moved || !k); k++) {
		q.pid = at.by[k].pid;
		q.start = at.by[k].start;
		q.end = at.by[k].end;
		is_moved = fn(arg, &q, &at.id);
	}
	if (is_moved)
		p->item[i] = p->item[--p->nr];
	return is_moved;
}

void survey_places_each(struct survey_places *p, survey_places_fn *fn, void *arg)
{
	for (size_t i = 0; i < p->nr;)
		i += !ask(p, i, fn, arg);
}

static void take_event(struct survey_places *p, const struct inotify_event *e, survey_places_fn *fn,
		       void *arg)
{
	if (e->mask & IN_Q_OVERFLOW)
		survey_places_each(p, fn, arg);
	if (!(e->mask & CHANGES) || !e->len)
		return;
	for (size_t i = 0; i < p->nr;)
		i += !(p->item[i].watch == e->wd &&
		       strcmp(str_base_name(p->item[i].path), e->name) == 0 && ask(p, i, fn, arg));
}

void survey_places_changed(struct survey_places *p, survey_places_fn *fn, void *arg)
{
	static _Alignas(struct inotify_event) char events[EVENTS_BYTES];
	ssize_t len = 1;

	for (int i = 0; i < MAX_READS && len > 0; i++) {
		const struct inotify_event *e;

		len = read(p->fd, events, sizeof(events));
		for (ssize_t at = 0; at < len; at += (ssize_t)(sizeof(*e) + e->len)) {
			e = (const struct inotify_event *)(const void *)(events + at);
			take_event(p, e, fn, arg);
		}
	}
}
