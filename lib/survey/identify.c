/*
 * Tries three ways to open the file: through the mapping, if the process still has it; by its path,
 * if that leads to the same file system; by its path below another mount point of that file system
 * (for containers). The inode's time of change (ctime) shows since when the content is the same: a
 * writer cannot set it back, and it lags by at most a clock tick.
 */
#include "survey/identify.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/root.h"
#include "base/sys.h"
#include "survey/maps.h"
#include "survey/mounts.h"
#include "survey/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

enum {
	FULL_PATH_BYTES = 3 * SURVEY_IDENTIFY_PATH_BYTES,
	LINK_BYTES = 96,
	MAX_PLACES = 8, /* mount points that are tried */
	TICK_NS = 10000000,
	NS_PER_S = 1000000000,
};

/* Whether fd has the inode's generation, as far as the file system reports it. Closes another. */
static int check_generation(int fd, const struct survey_identify_question *q)
{
	int generation = 0; /* the kernel writes an int, though the request says long */

	if (fd < 0 || survey_ops()->ioctl(fd, FS_IOC_GETVERSION, &generation) || !q->generation ||
	    (uint32_t)generation == (uint32_t)q->generation)
		return fd;
	io_close(&fd);
	return -ESTALE;
}

/* mount: of the path. Opens with O_PATH first, which has no effect on devices and pipes. */
static int open_path(const char *path, const struct survey_identify_question *q,
		     const struct survey_mount *mount)
{
	IO_AUTO_FD int place = survey_ops()->open_place(path);
	char link[LINK_BYTES];
	struct stat st;
	int rc = place < 0 ? place : sys()->fstatat(place, "", &st, AT_EMPTY_PATH);
	bool is_overlay = strcmp(mount->type, "overlay") == 0;

	if (rc)
		return rc < 0 ? rc : -ENOENT;
	/* With layers (overlay) or subvolumes (btrfs), stat(2) and mappings report other devices.
	 */
	if (!S_ISREG(st.st_mode) || st.st_ino != q->inode ||
	    (!is_overlay && strcmp(mount->type, "btrfs") != 0 &&
	     (major(st.st_dev) != q->major || minor(st.st_dev) != q->minor)))
		return -ESTALE;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	return check_generation(sys()->openat(AT_FDCWD, link, O_RDONLY | O_NONBLOCK, 0), q);
}

/* Mappings report the device of the mount; with an overlay, before Linux 6.8, that of the layer. */
static int open_name(struct survey_mounts *m, const struct survey_identify_question *q)
{
	const struct survey_mount *over = survey_mounts_cover(m, q->path);
	char full[FULL_PATH_BYTES];

	if (!over || !over->is_local || q->path[0] != '/')
		return -ENOENT;
	if ((over->major != q->major || over->minor != q->minor) &&
	    strcmp(over->type, "overlay") != 0)
		return -ENOENT;
	snprintf(full, sizeof(full), "%s%s", m->root->dir, q->path);
	return open_path(full, q, over);
}

static int open_elsewhere(const struct survey_mounts *m, const struct survey_identify_question *q)
{
	char full[FULL_PATH_BYTES];
	unsigned nr = 0;
	int fd = -ENOENT;

	for (size_t i = 0; i < m->nr && fd < 0 && nr < MAX_PLACES; i++) {
		const struct survey_mount *at = &m->item[i];

		if (!at->is_own || !at->is_local || at->major != q->major ||
		    at->minor != q->minor || strcmp(at->root, "/") != 0 || !at->point[1])
			continue;
		nr++;
		if (snprintf(full, sizeof(full), "%s%s%s", m->root->dir, at->point, q->path) <
		    (int)sizeof(full))
			fd = open_path(full, q, at);
	}
	return fd;
}

int survey_identify_open(struct survey_mounts *mounts, const struct survey_identify_question *q)
{
	const struct survey_mount *mount = survey_mounts_find(mounts, q->pid, q->major, q->minor);
	int fd;

	if (!mount || !mount->is_local)
		return mount ? -EREMOTE : -ENODEV;
	fd = survey_maps_open(mounts->root, q->pid, q->start, q->end, q->inode);
	fd = check_generation(fd, q);
	fd = fd < 0 ? open_name(mounts, q) : fd;
	return fd < 0 ? open_elsewhere(mounts, q) : fd;
}

/* CLOCK_MONOTONIC at the last change of the file. */
static uint64_t unchanged_since_ns(const struct stat *st, const struct clock_triple *now)
{
	int64_t ns = (int64_t)st->st_ctim.tv_sec * NS_PER_S + st->st_ctim.tv_nsec + TICK_NS;
	int64_t ago_ns = (int64_t)now->realtime_ns - ns;

	if (ago_ns < 0)
		return UINT64_MAX; /* in the future: the clock was set */
	return (uint64_t)ago_ns < now->monotonic_ns ? now->monotonic_ns - (uint64_t)ago_ns : 0;
}

static void read_file(int fd, const struct clock_triple *now, struct survey_identify_answer *out)
{
	struct stat before, after;
	struct elf_build_id id;

	if (sys()->fstatat(fd, "", &before, AT_EMPTY_PATH) || elf_build_id_read(fd, &id) ||
	    sys()->fstatat(fd, "", &after, AT_EMPTY_PATH) ||
	    before.st_ctim.tv_sec != after.st_ctim.tv_sec ||
	    before.st_ctim.tv_nsec != after.st_ctim.tv_nsec || before.st_size != after.st_size)
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
	struct survey_identify_answer answer = {0};
	struct clock_triple now;

	clock_triple_now(&now);

	IO_AUTO_FD int fd = survey_identify_open(mounts, q);

	if (fd == -EREMOTE)
		answer.state = SURVEY_IDENTIFY_FOREIGN;
	else if (fd >= 0)
		read_file(fd, &now, &answer);
	*out = answer;
}
