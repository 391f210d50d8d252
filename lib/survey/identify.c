/*
 * Three ways to a file: the mapping of the process, if that is still there; its path, if it leads
 * to the same file system; its path below another place where that is mounted (those of containers
 * are). A file has not changed since the time that its inode says (ctime), which a writer can not
 * set back, and which is a tick of the clock too early at most.
 */
#include "survey/identify.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/root.h"
#include "base/sys.h"
#include "survey/mounts.h"
#include "survey/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

enum {
	FULL_PATH_BYTES = 3 * SURVEY_IDENTIFY_PATH_BYTES,
	LINK_BYTES = 96,
	MAX_PLACES = 8, /* where a file system is mounted, that are looked at */
	TICK_NS = 10000000,
	NS_PER_S = 1000000000,
};

/* The file that was opened is the one: a filesystem of several trees (btrfs) or layers (overlay)
 * tells other devices here than in mappings. */
static bool is_inode(const struct survey_identify_question *q, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_ino == q->inode;
}

static bool is_device(const struct survey_identify_question *q, const struct stat *st)
{
	return major(st->st_dev) == q->major && minor(st->st_dev) == q->minor;
}

/* Where the file system tells it. */
static bool is_generation(const struct survey_identify_question *q, int fd)
{
	int generation = 0; /* the kernel writes an int, though the request says long */
	int rc = survey_ops()->ioctl(fd, FS_IOC_GETVERSION, &generation);

	return rc || !q->generation || (uint32_t)generation == (uint32_t)q->generation;
}

static int read_link(const char *link, const struct survey_identify_question *q)
{
	int fd = sys()->openat(AT_FDCWD, link, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);

	if (fd < 0 || is_generation(q, fd))
		return fd;
	io_close(&fd);
	return -ESTALE;
}

/* What the mapping leads to, whatever its name means to whom. */
static int open_mapping(const struct survey_mounts *m, const struct survey_identify_question *q)
{
	char link[sizeof(m->root->dir) + LINK_BYTES];
	struct stat st;
	int rc;

	snprintf(link, sizeof(link), "%s/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		 m->root->dir, q->pid, q->start, q->end);
	rc = sys()->fstatat(AT_FDCWD, link, &st, 0);
	if (rc)
		return rc;
	return is_inode(q, &st) ? read_link(link, q) : -ESTALE;
}

/* A device or a pipe is not to be opened: a place first, then the file there. */
static int open_path(const char *path, const struct survey_identify_question *q, bool knows_device)
{
	IO_AUTO_FD int place = survey_ops()->open_place(path);
	char link[LINK_BYTES];
	struct stat st;
	int rc = place < 0 ? place : sys()->fstatat(place, "", &st, AT_EMPTY_PATH);

	if (rc)
		return rc < 0 ? rc : -ENOENT;
	if (!is_inode(q, &st) || (knows_device && !is_device(q, &st)))
		return -ESTALE;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	return read_link(link, q);
}

static bool is_type(const struct survey_mount *m, const char *type)
{
	return strcmp(m->type, type) == 0;
}

/* The device of a mapping is that of the mount, but where files of layers are told by the file
 * system that they really lie on (overlay, before Linux 6.8). */
static int open_name(struct survey_mounts *m, const struct survey_identify_question *q)
{
	const struct survey_mount *over = survey_mounts_cover(m, q->path);
	char full[FULL_PATH_BYTES];
	bool is_same;

	if (!over || !over->is_local || q->path[0] != '/')
		return -ENOENT;
	is_same = over->major == q->major && over->minor == q->minor;
	if (!is_same && !is_type(over, "overlay"))
		return -ENOENT;
	snprintf(full, sizeof(full), "%s%s", m->root->dir, q->path);
	return open_path(full, q, is_same && !is_type(over, "overlay") && !is_type(over, "btrfs"));
}

static bool is_elsewhere(const struct survey_mount *at, const struct survey_identify_question *q)
{
	return at->is_own && at->is_local && at->major == q->major && at->minor == q->minor &&
	       strcmp(at->root, "/") == 0 && at->point[1];
}

static int open_elsewhere(const struct survey_mounts *m, const struct survey_identify_question *q)
{
	char full[FULL_PATH_BYTES];
	unsigned nr = 0;
	int fd = -ENOENT;

	for (size_t i = 0; i < m->nr && fd < 0 && nr < MAX_PLACES; i++) {
		const struct survey_mount *at = &m->item[i];

		if (!is_elsewhere(at, q))
			continue;
		nr++;
		if (snprintf(full, sizeof(full), "%s%s%s", m->root->dir, at->point, q->path) <
		    (int)sizeof(full))
			fd = open_path(full, q, !is_type(at, "overlay") && !is_type(at, "btrfs"));
	}
	return fd;
}

static int open_file(struct survey_mounts *m, const struct survey_identify_question *q)
{
	int fd = open_mapping(m, q);

	if (fd < 0)
		fd = open_name(m, q);
	return fd < 0 ? open_elsewhere(m, q) : fd;
}

static bool is_unchanged(const struct stat *a, const struct stat *b)
{
	return a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec &&
	       a->st_size == b->st_size;
}

/* CLOCK_MONOTONIC when the file was as it is now. */
static uint64_t unchanged_since_ns(const struct stat *st, const struct clock_triple *now)
{
	int64_t ns = (int64_t)st->st_ctim.tv_sec * NS_PER_S + st->st_ctim.tv_nsec + TICK_NS;
	int64_t ago_ns = (int64_t)now->realtime_ns - ns;

	if (ago_ns < 0)
		return UINT64_MAX; /* of the future: nobody knows */
	return (uint64_t)ago_ns < now->monotonic_ns ? now->monotonic_ns - (uint64_t)ago_ns : 0;
}

static void read_file(int fd, const struct clock_triple *now, struct survey_identify_answer *out)
{
	struct stat before, after;
	struct elf_build_id id;

	if (sys()->fstatat(fd, "", &before, AT_EMPTY_PATH) || elf_build_id_read(fd, &id) ||
	    sys()->fstatat(fd, "", &after, AT_EMPTY_PATH) || !is_unchanged(&before, &after))
		return;
	out->id = id;
	out->from_ns = unchanged_since_ns(&before, now);
	out->to_ns = now->monotonic_ns;
	if (out->from_ns <= out->to_ns)
		out->state = SURVEY_IDENTIFY_FOUND;
}

void survey_identify(struct survey_mounts *mounts, const struct survey_identify_question *q,
		     struct survey_identify_answer *out)
{
	const struct survey_mount *mount = survey_mounts_find(mounts, q->pid, q->major, q->minor);
	struct survey_identify_answer answer = {0};
	struct clock_triple now;

	clock_triple_now(&now);
	if (mount && !mount->is_local) {
		answer.state = SURVEY_IDENTIFY_FOREIGN;
	} else if (mount) {
		IO_AUTO_FD int fd = open_file(mounts, q);

		if (fd >= 0)
			read_file(fd, &now, &answer);
	}
	*out = answer;
}
