/*
 * Build-ids of mapped files, recorded apart from the mappings, each for a file and an interval. A
 * mapping with device and inode is assigned the build-id of its file at its time, and becomes
 * another object. Must not guess: without a build-id for that time the mapping is unchanged.
 */
#include "base/mem.h"
#include "profile/processes_internal.h"
#include "trace/record.h"
#include "trace/trace.h"

#include <errno.h>
#include <string.h>

_Static_assert((int)PROFILE_MAX_BUILD_ID_BYTES == (int)TRACE_MAX_BUILD_ID_BYTES, "copied whole");

/* The identity of a file, and its last build-id. */
struct file {
	uint64_t inode, generation;
	uint32_t major, minor;
	uint32_t path;     /* in paths */
	uint32_t nr, last; /* items */
};

struct profile_build_id {
	uint64_t from_ns, to_ns;
	uint32_t before; /* the previous one of the same file; PROFILE_NONE */
	uint8_t len, bytes[PROFILE_MAX_BUILD_ID_BYTES];
};

void profile_build_ids_init(struct profile_build_ids *all)
{
	*all = (struct profile_build_ids){0};
	dict_init_texts(&all->paths, sizeof(const char *), PROFILE_MAX_BUILD_IDS,
			PROFILE_TEXT_MAX_BYTES);
	dict_init(&all->files, sizeof(struct file), DICT_KEY(struct file, path),
		  PROFILE_MAX_BUILD_IDS);
}

void profile_build_ids_fini(struct profile_build_ids *all)
{
	dict_fini(&all->paths);
	dict_fini(&all->files);
	mem_free(all->item);
}

/* Extends the interval of the file's last build-id: it was read again, and is the same. */
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

static int add_item(struct profile_build_ids *all, const struct trace_build_id *t, struct file *f)
{
	struct profile_build_id *b = MEM_ADD(all->item, all->nr, all->room);

	if (!b)
		return -ENOMEM;
	*b = (struct profile_build_id){.from_ns = t->from_ns,
				       .to_ns = t->to_ns,
				       .before = f->nr++ ? f->last : PROFILE_NONE,
				       .len = (uint8_t)t->id_len};
	memcpy(b->bytes, t->id, t->id_len);
	f->last = (uint32_t)all->nr - 1;
	return 0;
}

int profile_build_ids_add(struct profile_build_ids *all, const struct trace_build_id *t)
{
	struct file key = {.inode = t->inode,
			   .generation = t->inode_generation,
			   .major = t->major,
			   .minor = t->minor},
		    *f;

	key.path = dict_add_text(&all->paths, t->path, t->path_len);
	f = key.path == DICT_NONE ? NULL : dict_get(&all->files, &key);
	if (f && f->nr && extend(&all->item[f->last], t))
		return 0;
	if (all->nr == PROFILE_MAX_BUILD_IDS ||
	    all->paths.texts.used_bytes > (size_t)PROFILE_TEXT_MAX_BYTES - (1 << 16))
		return -EFBIG;
	return f ? add_item(all, t, f) : -ENOMEM;
}

/* NULL: none at that time. */
static const struct profile_build_id *find_at(const struct profile_build_ids *all,
					      const struct profile_object *o, uint64_t time_ns)
{
	const struct file key = {.inode = o->inode,
				 .generation = o->inode_generation,
				 .major = o->major,
				 .minor = o->minor,
				 .path = dict_find(&all->paths, o->path)};
	const struct file *f = dict_at(&all->files, dict_find(&all->files, &key));
	uint32_t i = f && f->nr ? f->last : PROFILE_NONE;

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
	for (size_t i = 0; i < g->nr_maps && rc == 0; i++)
		rc = resolve(&p->objects, &g->build_ids, &g->maps[i].mapping);
	if (rc || g->grows) /* objects keep their numbers */
		return rc;
	return profile_objects_compact(&p->objects, g);
}
