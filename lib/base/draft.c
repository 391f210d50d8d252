/*
 * O_TMPFILE, or a random name where that is not supported.
 */
#include "base/draft.h"

#include "base/err.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static int fail(const struct draft *d, int rc, struct err *e)
{
	return err_set(e, rc, "%s: cannot be written: %s", d->path, strerror(-rc));
}

/* Linking a descriptor requires /proc, which may not be mounted. */
static void descriptor_path(int fd, char path[64])
{
	snprintf(path, 64, "/proc/self/fd/%d", fd);
}

static int open_file(struct draft *d)
{
	int fd = io_random_name(d->temporary);
	char path[64];
	struct stat st;

	if (fd < 0)
		return fd;
	fd = sys()->openat(d->dirfd, ".", O_WRONLY | O_TMPFILE, 0600);
	if (fd >= 0) {
		descriptor_path(fd, path);
		if (sys()->fstatat(AT_FDCWD, path, &st, 0) == 0)
			return fd;
		io_close(&fd);
	} else if (fd != -EOPNOTSUPP && fd != -EISDIR && fd != -EINVAL) {
		return fd;
	}
	d->is_named = true; /* before it exists: for draft_forget */
	return sys()->openat(d->dirfd, d->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
			     0600);
}

int draft_open(struct draft *d, const char *path, struct err *e)
{
	int rc;

	*d = (struct draft){.dirfd = -1, .fd = -1, .path = path};
	rc = io_open_folder(path, &d->dirfd, &d->name, e);
	if (rc)
		return rc;
	d->fd = open_file(d);
	if (d->fd >= 0)
		return 0;
	rc = fail(d, d->fd, e);
	d->is_named = false; /* what has this name is not ours */
	draft_drop(d);
	return rc;
}

/* Links it under the random name, unless it has that already. */
static int name_it(struct draft *d)
{
	char path[64];
	int rc;

	if (d->is_named)
		return 0;
	descriptor_path(d->fd, path);
	d->is_named = true;
	rc = sys()->linkat(AT_FDCWD, path, d->dirfd, d->temporary, AT_SYMLINK_FOLLOW);
	d->is_named = rc == 0;
	return rc;
}

int draft_publish(struct draft *d, io_may_replace_fn *may_replace, struct err *e)
{
	int rc = io_sync(d->fd);

	rc = rc ? rc : name_it(d);
	if (rc) {
		fail(d, rc, e);
	} else {
		rc = io_publish(d->dirfd, d->temporary, d->name, d->path, may_replace, e);
		d->is_named = rc != 0;
	}
	if (rc == 0) {
		rc = io_sync(d->dirfd);
		if (rc)
			fail(d, rc, e);
	}
	draft_drop(d);
	return rc;
}

void draft_drop(struct draft *d)
{
	draft_forget(d);
	io_close(&d->fd);
	io_close(&d->dirfd);
	d->is_named = false;
}

void draft_forget(const struct draft *d)
{
	if (d->is_named)
		sys()->unlinkat(d->dirfd, d->temporary, 0);
}
