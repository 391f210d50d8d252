/*
 * What is mapped, each object once. A mapping that tells a build-id and one of the same path that
 * does not (the kernel could not read it) stay apart: the file at a path may have been replaced
 * between the two. Where they are one mapping of one process, spaces.c knows it.
 */
#include "base/mem.h"
#include "base/str.h"
#include "profile/processes_internal.h"
#include "trace/record.h"

#include <errno.h>
#include <string.h>

_Static_assert((int)PROFILE_MAX_BUILD_ID_BYTES == (int)TRACE_MAX_BUILD_ID_BYTES, "copied whole");

void profile_clean(char *text)
{
	str_disarm(text);
	if (str_is_utf8(text, strlen(text)))
		return;
	for (char *p = text; *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
}

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool ends(const char *s, const char *with)
{
	size_t len = strlen(s), with_len = strlen(with);

	return len >= with_len && !strcmp(s + len - with_len, with);
}

/* Names that the kernel gives to memory that is of no file; source: d_path of what shmem, memfd
 * and hugetlbfs make, perf_event_mmap_event in kernel/events/core.c. */
static bool is_memory(const char *path)
{
	static const char *const names[] = {"//",    "/memfd:",   "/dev/zero", "/anon_hugepage",
					    "/SYSV", "/dev/shm/", "/i915",     "/drm mm object"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (begins(path, names[i]))
			return true;
	return *path != '/';
}

/* A file that was removed is still one if it was a program. */
static enum profile_object_kind kind_of(const struct profile_object *o)
{
	if (!strcmp(o->path, "[vdso]"))
		return PROFILE_OBJECT_VDSO;
	if (o->build_id_len)
		return PROFILE_OBJECT_FILE;
	return is_memory(o->path) || ends(o->path, " (deleted)") ? PROFILE_OBJECT_ANON
								 : PROFILE_OBJECT_FILE;
}

static struct profile_object make_key(const struct trace_record *r)
{
	struct profile_object key = {.path = r->name,
				     .build_id_len = (uint8_t)r->build_id_len,
				     .major = r->major,
				     .minor = r->minor,
				     .inode = r->inode,
				     .inode_generation = r->inode_generation};

	memcpy(key.build_id, r->build_id, r->build_id_len);
	return key;
}

static uint32_t hash_of(const struct profile_object *o)
{
	uint32_t hash = index_hash((uint32_t)o->inode, o->path, strlen(o->path));

	return index_hash(hash, o->build_id, o->build_id_len);
}

static bool is_same(const void *arg, const void *key, uint32_t number)
{
	const struct profile_objects *all = arg;
	const struct profile_object *a = key, *b = all->item[number];

	return a->inode == b->inode && a->inode_generation == b->inode_generation &&
	       a->major == b->major && a->minor == b->minor && a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, a->build_id_len) && !strcmp(a->path, b->path);
}

/* Memory is called by all of its name. */
static const char *name_of(const struct profile_object *o)
{
	const char *slash = begins(o->shown_path, "//") ? NULL : strrchr(o->shown_path, '/');

	return slash && slash[1] ? slash + 1 : o->shown_path;
}

static bool copy_texts(struct arena *a, struct profile_object *o)
{
	char *path = arena_strdup(a, o->path), *shown = path ? arena_strdup(a, o->path) : NULL;

	if (!shown)
		return false;
	profile_clean(shown);
	o->path = path;
	o->shown_path = shown;
	o->name = name_of(o);
	return true;
}

static int add(struct profile_objects *all, const struct profile_object *key, uint32_t hash)
{
	struct profile_object *o;
	void *grown;

	if (all->nr >= PROFILE_MAX_OBJECTS ||
	    all->arena.used_bytes > (size_t)PROFILE_TEXT_MAX_BYTES - (4 << 16)) {
		all->is_full = true;
		return -EFBIG;
	}
	grown = mem_grow(all->item, all->nr, &all->room, sizeof(struct profile_object *));
	if (!grown)
		return -ENOMEM;
	all->item = grown;
	o = arena_alloc(&all->arena, sizeof(*o));
	if (!o)
		return -ENOMEM;
	*o = *key;
	o->number = (uint32_t)all->nr;
	if (!copy_texts(&all->arena, o) || index_add(&all->index, hash, o->number))
		return -ENOMEM;
	o->kind = kind_of(o);
	all->item[all->nr++] = o;
	return 0;
}

int profile_objects_add(struct profile_objects *all, const struct trace_record *r,
			const struct profile_object **out)
{
	struct profile_object key = make_key(r);
	uint32_t hash = hash_of(&key), number;
	int rc = 0;

	/* the next mapping is often of the same one */
	number = index_find(&all->index, hash, is_same, all, &key);
	if (number == PROFILE_NONE) {
		number = (uint32_t)all->nr;
		rc = add(all, &key, hash);
	}
	if (rc == 0)
		*out = all->item[number];
	return rc;
}

void profile_objects_init(struct profile_objects *all)
{
	*all = (struct profile_objects){0};
	arena_init(&all->arena, PROFILE_TEXT_MAX_BYTES);
}

void profile_objects_fini(struct profile_objects *all)
{
	arena_fini(&all->arena);
	index_fini(&all->index);
	mem_free(all->item);
}

int profile_objects_keep(struct profile_objects *all, struct profile_gathered *g)
{
	bool *is_used = mem_calloc(all->nr + 1, sizeof(*is_used));
	size_t kept = 0;

	if (!is_used)
		return -ENOMEM;
	for (size_t i = 0; i < g->nr_told; i++)
		is_used[g->told[i].mapping.object->number] = true;
	for (size_t i = 0; i < all->nr; i++) {
		struct profile_object *o = all->item[i];

		if (!is_used[i])
			continue;
		o->number = (uint32_t)kept;
		all->item[kept++] = o;
	}
	all->nr = kept;
	mem_free(is_used);
	return 0;
}
