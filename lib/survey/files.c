/*
 * Mappings and stat(2) may report other devices for one file: of an overlay that of a layer, of
 * btrfs that of the mount. So of an overlay inodes are compared, and else what stat(2) reports of
 * both.
 */
#include "survey/files.h"

#include "base/array.h"
#include "base/io.h"
#include "base/root.h"
#include "base/sys.h"
#include "survey/mounts.h"
#include "survey/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { SHARE = 4, FULL_PATH_BYTES = 2 * SURVEY_IDENTIFY_PATH_BYTES };

static bool is_mapped(const struct stat *st, const struct survey_identify_question *q,
		      const struct survey_mount *over)
{
	return st->st_ino == q->inode &&
	       (strcmp(over->type, "overlay") == 0 ||
		(major(st->st_dev) == q->major && minor(st->st_dev) == q->minor));
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* fd: the mapped file; -1: not open. What may not answer is not asked, and leads to nothing. */
static bool is_at_path(struct survey_mounts *mounts, const struct survey_identify_question *q,
		       int fd)
{
	const struct survey_mount *over =
	    q->path[0] == '/' ? survey_mounts_cover(mounts, q->path) : NULL;
	char full[FULL_PATH_BYTES];
	struct stat there, mapped;

	if (!over || !over->is_local)
		return false;
	snprintf(full, sizeof(full), "%s%s", mounts->root->dir, q->path);

	IO_AUTO_FD int place = survey_ops()->open_place(full);

	if (place < 0 || sys()->fstatat(place, "", &there, AT_EMPTY_PATH))
		return false;
	return is_mapped(&there, q, over) ||
	       (fd >= 0 && sys()->fstatat(fd, "", &mapped, AT_EMPTY_PATH) == 0 &&
		is_same(&there, &mapped));
}

static struct survey_files_key key_of(const struct survey_identify_question *q,
				      const struct elf_build_id *id)
{
	struct survey_files_key key = {.id = *id};

	if (id->len)
		return key;
	key.inode = q->inode;
	key.major = q->major;
	key.minor = q->minor;
	return key;
}

static bool has(const struct survey_files *files, const struct survey_files_key *key)
{
	return ARRAY_ANY(x, files->key, files->nr,
			 x->inode == key->inode && x->major == key->major &&
			     x->minor == key->minor && elf_build_id_equal(&x->id, &key->id));
}

static uint64_t room(const struct survey_files *files)
{
	const uint64_t share = (SURVEY_FILES_ALL_BYTES - files->bytes) / SHARE;

	if (files->nr + 1 >= SURVEY_FILES_MAX)
		return 0;
	return share < SURVEY_FILES_ONE_BYTES ? share : SURVEY_FILES_ONE_BYTES;
}

int survey_files_open(const struct survey_files *files, struct survey_mounts *mounts,
		      const struct survey_identify_question *q, const struct elf_build_id *id,
		      struct elf_parts *out)
{
	const struct survey_files_key key = key_of(q, id);
	int fd, rc;

	if (is_at_path(mounts, q, -1))
		return -EEXIST;
	if (files->nr == SURVEY_FILES_MAX || has(files, &key))
		return -EALREADY;
	fd = survey_identify_open(mounts, q);
	if (fd < 0)
		return fd;
	rc = is_at_path(mounts, q, fd) ? -EEXIST : elf_parts_find(fd, room(files), out);
	if (rc)
		io_close(&fd);
	return rc ?: fd;
}

void survey_files_add(struct survey_files *files, const struct survey_identify_question *q,
		      const struct elf_build_id *id, uint64_t bytes)
{
	const struct survey_files_key key = key_of(q, id);

	if (files->nr == SURVEY_FILES_MAX || has(files, &key))
		return;
	files->nr_left_out += !bytes;
	files->bytes += bytes;
	files->key[files->nr++] = key;
}
