/*
 * A file is the same as long as device, inode, size and time of change (ctime) are: a writer cannot
 * set that back, and survey_identify believes no file that changed in the very tick in which it was
 * read. Overlays and btrfs, where mappings and stat(2) report other devices, are always read.
 */
#include "survey/known.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/root.h"
#include "base/sys.h"
#include "survey/mounts.h"
#include "survey/ops.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { FULL_PATH_BYTES = 2 * SURVEY_IDENTIFY_PATH_BYTES };

struct file {
	uint64_t inode, generation;
	uint32_t major, minor; /* the end of the key */
	int64_t changed_s, changed_ns, bytes;
	struct survey_identify_answer answer;
};

void survey_known_init(struct survey_known *k)
{
	dict_init(&k->files, sizeof(struct file), DICT_KEY(struct file, minor), SURVEY_KNOWN_MAX);
}

void survey_known_fini(struct survey_known *k)
{
	dict_fini(&k->files);
}

static struct file key_of(const struct survey_identify_question *q)
{
	return (struct file){
	    .inode = q->inode, .generation = q->generation, .major = q->major, .minor = q->minor};
}

/* False: it leads to another file, or to a file system that may not answer. */
static bool look_at_path(struct survey_mounts *mounts, const struct survey_identify_question *q,
			 struct stat *st)
{
	const struct survey_mount *over =
	    q->path[0] == '/' ? survey_mounts_cover(mounts, q->path) : NULL;
	char full[FULL_PATH_BYTES];

	if (!over || !over->is_local)
		return false;
	snprintf(full, sizeof(full), "%s%s", mounts->root->dir, q->path);

	IO_AUTO_FD int place = survey_ops()->open_place(full);

	return place >= 0 && sys()->fstatat(place, "", st, AT_EMPTY_PATH) == 0 &&
	       st->st_ino == q->inode && major(st->st_dev) == q->major &&
	       minor(st->st_dev) == q->minor;
}

static bool is_as_it_was(const struct file *f, const struct stat *st)
{
	return f->changed_s == st->st_ctim.tv_sec && f->changed_ns == st->st_ctim.tv_nsec &&
	       f->bytes == st->st_size;
}

static void remember(struct survey_known *k, const struct survey_identify_question *q,
		     const struct stat *st, const struct survey_identify_answer *answer)
{
	const struct file key = key_of(q);
	struct file *f = dict_get(&k->files, &key);

	if (!f && k->files.nr) {
		survey_known_fini(k);
		f = dict_get(&k->files, &key);
	}
	if (!f)
		return;
	f->changed_s = st->st_ctim.tv_sec;
	f->changed_ns = st->st_ctim.tv_nsec;
	f->bytes = st->st_size;
	f->answer = *answer;
}

bool survey_known_identify(struct survey_known *k, struct survey_mounts *mounts,
			   const struct survey_identify_question *q,
			   struct survey_identify_answer *out)
{
	const struct file key = key_of(q), *f = dict_at(&k->files, dict_find(&k->files, &key));
	const uint64_t now_ns = clock_monotonic_ns();
	struct stat before, after;

	const bool is_there = look_at_path(mounts, q, &before);

	if (f && is_there && is_as_it_was(f, &before)) {
		*out = f->answer;
		out->to_ns = now_ns;
		out->is_same = true;
		return true;
	}
	survey_identify(mounts, q, out);
	if (is_there && out->state == SURVEY_IDENTIFY_FOUND && look_at_path(mounts, q, &after) &&
	    before.st_ctim.tv_sec == after.st_ctim.tv_sec &&
	    before.st_ctim.tv_nsec == after.st_ctim.tv_nsec)
		remember(k, q, &after, out);
	return false;
}
