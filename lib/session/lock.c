/*
 * The lock file.
 */
#include "session/lock.h"

#include "base/err.h"
#include "base/io.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Whether the name still is the file behind fd: its last holder may have removed it. */
static bool is_current(int fd, int dirfd, const char *name)
{
	struct stat by_name, by_fd;

	return sys()->fstatat(dirfd, name, &by_name, AT_SYMLINK_NOFOLLOW) == 0 &&
	       sys()->fstatat(fd, "", &by_fd, AT_EMPTY_PATH) == 0 &&
	       by_name.st_ino == by_fd.st_ino && by_name.st_dev == by_fd.st_dev;
}

static int refuse_foreign(const struct stat *st, const char *path, struct err *e)
{
	err_set(e, -EPERM, "%s: belongs to another user (uid %u)", path, (unsigned)st->st_uid);
	return -EPERM;
}

/* Another user's file, for example in /tmp: with fs.protected_regular opening it fails with EACCES
 * even for root. */
static int refuse_open(int rc, int dirfd, const char *name, const char *path, struct err *e)
{
	struct stat st;

	if (sys()->fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != geteuid())
		return refuse_foreign(&st, path, e);
	return err_set(e, rc, "%s: cannot be created: %s", path,
		       rc == -ELOOP ? "it is a symbolic link" : strerror(-rc));
}

static int try_lock(int fd, const char *path, struct err *e)
{
	struct stat st;
	int rc = sys()->fstatat(fd, "", &st, AT_EMPTY_PATH);

	if (rc == 0 && st.st_uid != geteuid())
		return refuse_foreign(&st, path, e);
	/* a lock file is empty; any other file would be lost when the lock is removed */
	if (rc == 0 && (!S_ISREG(st.st_mode) || st.st_size))
		return err_set(e, -EEXIST, "%s: exists and is not a lock file", path);
	if (rc == 0)
		rc = sys()->flock(fd, LOCK_EX | LOCK_NB);
	if (rc == -EWOULDBLOCK)
		return err_set(e, -EBUSY, "%s: another cpuperf session is using this name", path);
	if (rc)
		return err_set(e, rc, "%s: cannot be locked: %s", path, strerror(-rc));
	return 0;
}

int lock_acquire(struct lock *l, int dirfd, const char *name, const char *path, struct err *e)
{
	enum { TRIES = 16 };

	*l = (struct lock){.dirfd = dirfd, .fd = -1};
	snprintf(l->name, sizeof(l->name), "%s", name);
	for (int i = 0; i < TRIES; i++) {
		int fd =
		    sys()->openat(dirfd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
		int rc = fd < 0 ? refuse_open(fd, dirfd, name, path, e) : try_lock(fd, path, e);

		if (rc == 0 && is_current(fd, dirfd, name)) {
			l->fd = fd;
			return 0;
		}
		io_close(&fd);
		if (rc)
			return rc;
	}
	return err_set(e, -EBUSY, "%s: other sessions keep taking this name", path);
}

void lock_release(struct lock *l)
{
	if (l->fd < 0)
		return;
	sys()->unlinkat(l->dirfd, l->name,
			0); /* unlinked while locked: nobody else can lock this file */
	io_close(&l->fd);
}
