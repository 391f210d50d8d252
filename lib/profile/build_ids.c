/*
 * Build-ids of mapped files, told beside the records: each for a file and a time. A mapping that
 * tells device and inode gets the one of its file and time, and is of another object then. Must not
 * guess: a file without one for that time has none.
 */
#include "base/mem.h"
#include "profile/processes_internal.h"
#include "trace/record.h"
#include "trace/trace.h"

#include <errno.h>
#include <string.h>

_Static_assert((int)PROFILE_MAX_BUILD_ID_BYTES == (int)TRACE_MAX_BUILD_ID_BYTES, "copied whole");

/* What a file is known by. */
struct key {
	uint64_t inode, generation;
	uint32_t major, minor;
	const char *path;
	size_t path_len;
};

struct profile_build_id {
	struct key key;
	uint64_t from_ns, to_ns;
	uint32_t before; /* of the same file, told before; PROFILE_NONE */
	uint8_t len, bytes[PROFILE_MAX_BUILD_ID_BYTES];
};

void profile_build_ids_init(struct profile_build_ids *all)
{
	*all = (struct profile_build_ids){0};
	arena_init(&all->arena, PROFILE_TEXT_MAX_BYTES);
}

void profile_build_ids_fini(struct profile_build_ids *all)
{
	arena_fini(&all->arena);
	index_fini(&all->index);
	mem_free(all->item);
	mem_free(all->last);
}

static bool is_same(const void *arg, const void *key, uint32_t number)
{
	const struct profile_build_ids *all = arg;
	const struct key *a = key, *b = &all->item[all->last[number]].key;

	return a->inode == b->inode && a->generation == b->generation && a->major == b->major &&
	       a->minor == b->minor && a->path_len == b->path_len &&
	       !memcmp(a->path, b->path, a->path_len);
}

static uint32_t find(const struct profile_build_ids *all, const struct key *k, uint32_t *hash)
{
	*hash = index_hash((uint32_t)k->inode, k->path, k->path_len);
	return index_find(&all->index, *hash, is_same, all, k);
}

/* The last one told of the file goes on: it was looked at again, and has not changed. */
static bool extend(struct profile_build_id *last, const struct trace_build_id *t)
{
	if (last->len != t->id_len || memcmp(last->bytes, t->id, t->id_len) != 0 ||
	    t->from_ns > last->to_ns || t->to_ns < last->to_ns)
		return false;
	last->to_ns = t->to_ns;
	if (t->from_ns < last->from_ns)
		last->from_ns = t->from_ns;
	return true;
}

static int add_file(struct profile_build_ids *all, uint32_t hash, uint32_t item)
{
	void *grown = mem_grow(all->last, all->nr_files, &all->last_room, sizeof(*all->last));

	if (!grown)
		return -ENOMEM;
	all->last = grown;
	all->last[all->nr_files] = item;
	return index_add(&all->index, hash, (uint32_t)all->nr_files++);
}

static int add_item(struct profile_build_ids *all, const struct trace_build_id *t,
		    const struct key *key, uint32_t before)
{
	void *grown;
	struct profile_build_id *b;

	grown = mem_grow(all->item, all->nr, &all->room, sizeof(*all->item));
	if (!grown)
		return -ENOMEM;
	all->item = grown;
	b = &all->item[all->nr];
	*b = (struct profile_build_id){.key = *key,
				       .from_ns = t->from_ns,
				       .to_ns = t->to_ns,
				       .before = before,
				       .len = (uint8_t)t->id_len};
	memcpy(b->bytes, t->id, t->id_len);
	b->key.path = before == PROFILE_NONE ? arena_strndup(&all->arena, key->path, key->path_len)
					     : all->item[before].key.path;
	if (!b->key.path)
		return -ENOMEM;
	all->nr++;
	return 0;
}

int profile_build_ids_add(struct profile_build_ids *all, const struct trace_build_id *t)
{
	const struct key key = {.inode = t->inode,
				.generation = t->inode_generation,
				.major = t->major,
				.minor = t->minor,
				.path = t->path,
				.path_len = strnlen(t->path, t->path_len)};
	uint32_t hash, file = find(all, &key, &hash);
	uint32_t before = file == INDEX_NONE ? PROFILE_NONE : all->last[file];
	int rc;

	if (before != PROFILE_NONE && extend(&all->item[before], t))
		return 0;
	if (all->nr == PROFILE_MAX_BUILD_IDS ||
	    all->arena.used_bytes > (size_t)PROFILE_TEXT_MAX_BYTES - (1 << 16))
		return -EFBIG;
	rc = add_item(all, t, &key, before);
	if (rc)
		return rc;
	if (before == PROFILE_NONE)
		return add_file(all, hash, (uint32_t)all->nr - 1);
	all->last[file] = (uint32_t)all->nr - 1;
	return 0;
}

/* NULL: none is known for that time. */
static const struct profile_build_id *find_at(const struct profile_build_ids *all,
					      const struct profile_object *o, uint64_t time_ns)
{
	const struct key key = {.inode = o->inode,
				.generation = o->inode_generation,
				.major = o->major,
				.minor = o->minor,
				.path = o->path,
				.path_len = strlen(o->path)};
	uint32_t hash, file = find(all, &key, &hash);
	uint32_t i = file == INDEX_NONE ? PROFILE_NONE : all->last[file];

	while (i != PROFILE_NONE &&
	       (time_ns < all->item[i].from_ns || time_ns > all->item[i].to_ns))
		i = all->item[i].before;
	return i == PROFILE_NONE ? NULL : &all->item[i];
}

static int resolve(struct profile_objects *objects, const struct profile_build_ids *all,
		   struct profile_mapping *m)
{
	const struct profile_object *o = m->object;
	const struct profile_build_id *id =
	    o->build_id_len || !o->inode ? NULL : find_at(all, o, m->from_ns);
	struct trace_record r = {.kind = PERF_RECORD_MMAP2};
	int rc;

	if (!id)
		return 0;
	r.name = o->path;
	r.build_id_len = id->len;
	memcpy(r.build_id, id->bytes, id->len);
	rc = profile_objects_add(objects, &r, &m->object);
	return rc == -EFBIG ? 0 : rc;
}

int profile_build_ids_resolve(struct profile_processes *p, struct profile_gathered *g)
{
	int rc = 0;

	if (!g->build_ids.nr)
		return 0;
	for (size_t i = 0; i < g->nr_told && rc == 0; i++)
		if (!g->told[i].is_made)
			rc = resolve(&p->objects, &g->build_ids, &g->told[i].mapping);
	if (rc == 0)
		rc = profile_objects_keep(&p->objects, g);
	return rc;
}
