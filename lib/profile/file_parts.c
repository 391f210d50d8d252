/*
 * Parts of files that the session stored. Each is a copy in one allocation. Must not look into
 * them: they are hostile.
 */
#include "base/mem.h"
#include "base/str.h"
#include "profile/processes_internal.h"
#include "trace/record.h"
#include "trace/trace.h"

#include <errno.h>
#include <string.h>

void profile_stored_fini(struct profile_stored *s)
{
	for (size_t i = 0; i < s->nr; i++)
		mem_free((void *)s->item[i]);
	mem_free(s->item);
	*s = (struct profile_stored){.nr = 0};
}

static struct profile_file_parts *copy(const struct trace_file_parts *t)
{
	const size_t part_bytes = t->nr * sizeof(*t->part);
	struct profile_file_parts *p =
	    mem_alloc(sizeof(*p) + part_bytes + t->len + t->path_len + 1);
	struct range *part;
	uint8_t *bytes;
	char *path;

	if (!p)
		return NULL;
	part = (struct range *)(p + 1);
	bytes = (uint8_t *)part + part_bytes;
	path = (char *)bytes + t->len;
	memcpy(part, t->part, part_bytes);
	memcpy(bytes, t->bytes, t->len);
	memcpy(path, t->path, t->path_len);
	path[t->path_len] = '\0';
	*p = (struct profile_file_parts){.major = t->major,
					 .minor = t->minor,
					 .inode = t->inode,
					 .file_bytes = t->file_bytes,
					 .build_id_len = (uint8_t)t->id_len,
					 .path = path,
					 .part = part,
					 .nr = t->nr,
					 .bytes = bytes};
	memcpy(p->build_id, t->id, t->id_len);
	return p;
}

int profile_stored_add(struct profile_stored *s, const struct trace_file_parts *t)
{
	const size_t bytes = t->len + t->path_len;
	struct profile_file_parts *p;
	const struct profile_file_parts **item;

	if (s->nr == PROFILE_MAX_STORED || bytes > PROFILE_STORED_MAX_BYTES - s->bytes)
		return -EFBIG;
	p = copy(t);
	item = p ? MEM_ADD(s->item, s->nr, s->room) : NULL;
	if (!item) {
		mem_free(p);
		return -ENOMEM;
	}
	*item = p;
	s->bytes += bytes;
	return 0;
}

/* Without the mark of the kernel: a file that was mapped before it was deleted may be stored after
 * that. */
static size_t path_len(const char *path)
{
	return str_stem(path, " (deleted)") ?: strlen(path);
}

static bool is_path(const char *a, const char *b)
{
	return path_len(a) == path_len(b) && !memcmp(a, b, path_len(a));
}

static bool is_of(const struct profile_file_parts *p, const struct profile_object *o)
{
	if (o->build_id_len)
		return p->build_id_len == o->build_id_len &&
		       memcmp(p->build_id, o->build_id, o->build_id_len) == 0;
	return o->inode && p->inode == o->inode && p->major == o->major && p->minor == o->minor &&
	       is_path(p->path, o->path);
}

const struct profile_file_parts *profile_find_file_parts(const struct profile_processes *p,
							 const struct profile_object *o)
{
	for (size_t i = 0; i < p->stored.nr; i++)
		if (is_of(p->stored.item[i], o))
			return p->stored.item[i];
	return NULL;
}
