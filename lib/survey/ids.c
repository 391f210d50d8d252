/*
 * A hash table of files with a maximum size. The key includes the name, because files of two btrfs
 * subvolumes can have the same device and inode in /proc/PID/maps.
 */
#include "survey/ids.h"

#include "base/crc32c.h"
#include "base/io.h"
#include "base/sys.h"
#include "collect/proc_maps.h"
#include "elf/build_id.h"
#include "survey/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct survey_file {
	struct survey_file *next; /* in the bucket */
	struct survey_key key;
	struct elf_build_id id;
};

void survey_ids_init(struct survey_ids *ids, const struct root *root)
{
	memset(ids, 0, sizeof(*ids)); /* large: no temporary on the stack */
	ids->root = root;
	survey_mounts_init(&ids->mounts, root);
	arena_init(&ids->arena, SURVEY_MAX_FILES * (sizeof(struct survey_file) + 16));
}

void survey_ids_fini(struct survey_ids *ids)
{
	survey_mounts_fini(&ids->mounts);
	arena_fini(&ids->arena);
}

/* The kernel finds most build-ids; Linux 6.11 only those in the first page of a file. */
static int find_id(const struct root *root, uint32_t pid, int maps_fd, const struct proc_mapping *m,
		   struct elf_build_id *id)
{
	int asked = survey_maps_build_id(maps_fd, m, id), rc;

	if (asked == 0)
		return 0;

	IO_AUTO_FD int fd = survey_maps_open(root, pid, m->start, m->end, 0);

	rc = fd < 0 ? fd : elf_build_id_read(fd, id);
	return asked == -ENODATA && rc == -EPERM ? asked : rc;
}

struct survey_key survey_key(const struct proc_mapping *m)
{
	return (struct survey_key){.inode = m->inode,
				   .major = m->major,
				   .minor = m->minor,
				   .name_crc = crc32c(0, m->name, m->name_len)};
}

static struct survey_file **find_bucket(struct survey_ids *ids, const struct survey_key *key)
{
	return &ids->bucket[(key->name_crc ^ key->inode) % SURVEY_FILE_BUCKETS];
}

static struct survey_file *find_file(struct survey_file *f, const struct survey_key *key)
{
	while (f && (f->key.inode != key->inode || f->key.major != key->major ||
		     f->key.minor != key->minor || f->key.name_crc != key->name_crc))
		f = f->next;
	return f;
}

static struct survey_file *add_file(struct survey_ids *ids, struct survey_file **bucket,
				    const struct survey_file *file)
{
	struct survey_file *f =
	    ids->nr_files < SURVEY_MAX_FILES ? arena_alloc(&ids->arena, sizeof(*f)) : NULL;

	ids->is_full = !f;
	if (!f)
		return NULL;
	*f = *file;
	f->next = *bucket;
	*bucket = f;
	ids->nr_files++;
	ids->nr_ids += f->id.len > 0;
	return f;
}

void survey_ids_skip(struct survey_ids *ids, const struct survey_key *files, size_t nr)
{
	ids->silent = files;
	ids->nr_silent = nr;
	for (size_t i = 0; i < nr; i++)
		(void)add_file(ids, find_bucket(ids, &files[i]),
			       &(struct survey_file){.key = files[i]});
}

bool survey_device_is_silent(const struct survey_key *files, size_t nr, uint32_t major,
			     uint32_t minor)
{
	size_t nr_silent = 0;

	for (size_t i = 0; i < nr; i++)
		nr_silent += files[i].major == major && files[i].minor == minor;
	return nr_silent >= SURVEY_SILENT_FILES;
}

/* False: undecided; try again when another process maps the file. */
static bool read_file(struct survey_ids *ids, uint32_t pid, int maps_fd,
		      const struct proc_mapping *m, struct elf_build_id *id)
{
	const struct survey_mount *mount =
	    survey_mounts_find(&ids->mounts, pid, m->major, m->minor);

	if (!mount || !mount->is_local) {
		ids->nr_foreign++;
		snprintf(ids->foreign_type, sizeof(ids->foreign_type), "%s",
			 mount ? mount->type : "");
		return true;
	}
	if (survey_device_is_silent(ids->silent, ids->nr_silent, m->major, m->minor)) {
		ids->nr_unasked++;
		return true;
	}
	if (ids->before)
		ids->before(m, ids->arg);
	switch (find_id(ids->root, pid, maps_fd, m, id)) {
	case -ENOENT:
	case -ESRCH:
		return false; /* the mapping or the process is gone */
	case -EPERM:
		ids->is_denied = true;
		return false;
	case 0:
	case -ENODATA:
	case -EINVAL:
		return true;
	default:
		ids->has_failed = true;
		return true;
	}
}

const struct elf_build_id *survey_ids_find(struct survey_ids *ids, uint32_t pid, int maps_fd,
					   const struct proc_mapping *m)
{
	struct survey_file file = {.key = survey_key(m)};
	struct survey_file **bucket = find_bucket(ids, &file.key);
	struct survey_file *f = find_file(*bucket, &file.key);

	if (!f && !ids->is_full && !ids->is_denied && read_file(ids, pid, maps_fd, m, &file.id))
		f = add_file(ids, bucket, &file);
	return f && f->id.len ? &f->id : NULL;
}
