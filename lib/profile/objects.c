/*
 * Mapped objects, each once. A mapping with a build-id and one of the same path without (the kernel
 * could not read it) stay apart: the file at the path may have been replaced between the two. Where
 * both are one mapping of one process, spaces.c joins them.
 */
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "profile/processes_internal.h"
#include "trace/record.h"

#include <errno.h>
#include <string.h>

_Static_assert((int)PROFILE_MAX_BUILD_ID_BYTES == (int)TRACE_MAX_BUILD_ID_BYTES, "copied whole");

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool ends(const char *s, const char *with)
{
	size_t len = strlen(s), with_len = strlen(with);

	return len >= with_len && !strcmp(s + len - with_len, with);
}

/* The kernel's names for memory without a file. Source: d_path for shmem, memfd and hugetlbfs, and
 * perf_event_mmap_event in kernel/events/core.c. */
static bool is_memory(const char *path)
{
	static const char *const names[] = {"//",    "/memfd:",   "/dev/zero", "/anon_hugepage",
					    "/SYSV", "/dev/shm/", "/i915",     "/drm mm object"};

	return *path != '/' || ARRAY_ANY(x, names, ARRAY_NR(names), begins(path, *x));
}

/* The kernel marks the names of deleted files, and a file may have such a name. */
static enum profile_object_kind kind_of(const struct profile_object *o)
{
	if (!strcmp(o->path, "[vdso]"))
		return PROFILE_OBJECT_VDSO;
	if (o->build_id_len)
		return PROFILE_OBJECT_FILE;
	if (is_memory(o->path))
		return PROFILE_OBJECT_ANON;
	return ends(o->path, " (deleted)") ? PROFILE_OBJECT_DELETED : PROFILE_OBJECT_FILE;
}

/* The identity of an object, from its mappings. */
struct entry {
	uint64_t inode, generation;
	uint32_t major, minor;
	uint32_t path; /* in paths */
	uint8_t build_id_len, build_id[PROFILE_MAX_BUILD_ID_BYTES];
	struct profile_object *object; /* in the arena; NULL: no memory */
};

/* Memory is shown by its full name. */
static const char *name_of(const struct profile_object *o)
{
	const char *slash = begins(o->shown_path, "//") ? NULL : strrchr(o->shown_path, '/');

	return slash && slash[1] ? slash + 1 : o->shown_path;
}

/* True near the limit, where the next allocation may fail. */
static bool is_full(const struct arena *a)
{
	return a->used_bytes > (size_t)PROFILE_TEXT_MAX_BYTES - (4 << 16);
}

static struct profile_object *make(struct profile_objects *all, const struct entry *e,
				   uint32_t number)
{
	struct profile_object *o = arena_alloc(&all->arena, sizeof(*o));
	const char *path = dict_text(&all->paths, e->path);
	char *shown = o ? arena_strdup(&all->arena, path) : NULL;

	if (!shown)
		return NULL;
	str_disarm(shown);
	*o = (struct profile_object){.number = number,
				     .path = path,
				     .shown_path = shown,
				     .build_id_len = e->build_id_len,
				     .major = e->major,
				     .minor = e->minor,
				     .inode = e->inode,
				     .inode_generation = e->generation};
	memcpy(o->build_id, e->build_id, e->build_id_len);
	o->name = name_of(o);
	o->kind = kind_of(o);
	return o;
}

int profile_objects_add(struct profile_objects *all, const struct trace_record *r,
			const struct profile_object **out)
{
	struct entry key = {.inode = r->inode,
			    .generation = r->inode_generation,
			    .major = r->major,
			    .minor = r->minor,
			    .path = dict_add(&all->paths, r->name),
			    .build_id_len = (uint8_t)r->build_id_len},
		     *e = NULL;
	uint32_t number = DICT_NONE;

	memcpy(key.build_id, r->build_id, r->build_id_len);
	if (key.path != DICT_NONE)
		number = dict_add(&all->items, &key);
	e = dict_at(&all->items, number);
	if (e && !e->object)
		e->object = make(all, e, number);
	if (e && e->object) {
		*out = e->object;
		return 0;
	}
	if (all->items.nr < PROFILE_MAX_OBJECTS && !is_full(&all->arena) &&
	    !is_full(&all->paths.texts))
		return -ENOMEM;
	all->is_full = true;
	return -EFBIG;
}

void profile_objects_init(struct profile_objects *all)
{
	*all = (struct profile_objects){0};
	arena_init(&all->arena, PROFILE_TEXT_MAX_BYTES);
	dict_init_texts(&all->paths, sizeof(const char *), PROFILE_MAX_OBJECTS,
			PROFILE_TEXT_MAX_BYTES);
	dict_init(&all->items, sizeof(struct entry), DICT_KEY(struct entry, build_id),
		  PROFILE_MAX_OBJECTS);
}

void profile_objects_fini(struct profile_objects *all)
{
	arena_fini(&all->arena);
	dict_fini(&all->paths);
	dict_fini(&all->items);
}

struct profile_object *profile_objects_at(const struct profile_objects *all, uint32_t number)
{
	const struct entry *e = dict_at(&all->items, number);

	return e->object;
}

/* Renumbers entries; their keys are invalid afterwards. */
int profile_objects_compact(struct profile_objects *all, struct profile_gathered *g)
{
	bool *is_used = mem_calloc(all->items.nr + 1, sizeof(*is_used));
	struct entry *items = all->items.items;
	size_t kept = 0;

	if (!is_used)
		return -ENOMEM;
	for (size_t i = 0; i < g->nr_maps; i++)
		is_used[g->maps[i].mapping.object->number] = true;
	for (size_t i = 0; i < all->items.nr; i++) {
		if (!is_used[i])
			continue;
		items[i].object->number = (uint32_t)kept;
		items[kept++] = items[i];
	}
	all->items.nr = kept;
	mem_free(is_used);
	return 0;
}
