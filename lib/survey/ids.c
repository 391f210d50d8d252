/*
 * The key of a file includes the name, because files of two btrfs subvolumes can have the same
 * device and inode in /proc/PID/maps.
 */
#include "survey/ids.h"

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/io.h"
#include "base/sys.h"
#include "elf/build_id.h"
#include "proc/maps.h"
#include "survey/identify.h"
#include "survey/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct file {
	struct survey_key key;
	struct elf_build_id id; /* empty: none */
};

void survey_ids_init(struct survey_ids *ids, const struct root *root)
{
	*ids = (struct survey_ids){.root = root, .since_ns = clock_monotonic_ns()};
	survey_mounts_init(&ids->mounts, root);
	dict_init(&ids->files, sizeof(struct file), DICT_KEY(struct survey_key, name_crc),
		  SURVEY_MAX_FILES);
}

void survey_ids_fini(struct survey_ids *ids)
{
	survey_mounts_fini(&ids->mounts);
	dict_fini(&ids->files);
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

/* Of a mapping or process that is gone by now: by the file's name, if the file is as it was before.
 * 0 or -ESRCH. */
static int find_id_by_name(struct survey_ids *ids, uint32_t pid, const struct proc_mapping *m,
			   struct elf_build_id *id)
{
	struct survey_identify_question q = {.inode = m->inode,
					     .start = m->start,
					     .end = m->end,
					     .major = m->major,
					     .minor = m->minor,
					     .pid = pid};
	struct survey_identify_answer answer;

	if (m->name_len >= sizeof(q.path))
		return -ESRCH;
	memcpy(q.path, m->name, m->name_len);
	survey_identify(&ids->mounts, &q, &answer);
	if (answer.state != SURVEY_IDENTIFY_FOUND || answer.from_ns > ids->since_ns)
		return -ESRCH;
	*id = answer.id;
	return 0;
}

struct survey_key survey_key(const struct proc_mapping *m)
{
	return (struct survey_key){.inode = m->inode,
				   .major = m->major,
				   .minor = m->minor,
				   .name_crc = crc32c(0, m->name, m->name_len)};
}

void survey_ids_skip(struct survey_ids *ids, const struct survey_key *files, size_t nr)
{
	ids->silent = files;
	ids->nr_silent = nr;
	for (size_t i = 0; i < nr; i++)
		ids->is_full |= !dict_get(&ids->files, &files[i]);
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
	int rc;

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
	rc = find_id(ids->root, pid, maps_fd, m, id);
	if (rc == -ENOENT || rc == -ESRCH)
		rc = find_id_by_name(ids, pid, m, id);
	switch (rc) {
	case -ESRCH:
		return false;
	case -EPERM:
		ids->is_denied = true;
		return false;
	case 0:
	case -ENODATA:
		if (ids->after)
			ids->after(pid, m, id, ids->arg);
		return true;
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
	const struct survey_key key = survey_key(m);
	struct file *f = dict_at(&ids->files, dict_find(&ids->files, &key));
	struct elf_build_id id = {0};

	if (!f && !ids->is_full && !ids->is_denied && read_file(ids, pid, maps_fd, m, &id)) {
		f = dict_get(&ids->files, &key);
		ids->is_full = !f;
		if (f)
			f->id = id;
		ids->nr_ids += f && id.len;
	}
	return f && f->id.len ? &f->id : NULL;
}
