/*
 * The path of the last session.
 */
#include "spec/last.h"

#include "base/io.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char name[] = "last";

static int check_owner(int fd)
{
	struct stat st;
	int rc = sys()->fstatat(fd, "", &st, AT_EMPTY_PATH);

	return rc ? rc : st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)) ? 0 : -EPERM;
}

/* Replaces *fd by a folder in it. */
static int enter(int *fd, const char *folder, bool makes)
{
	int rc = makes ? sys()->mkdirat(*fd, folder, 0700) : 0, next;

	if (rc && rc != -EEXIST)
		return rc;
	next = sys()->openat(*fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	io_close(fd);
	*fd = next;
	return next < 0 ? next : check_owner(next);
}

/* Makes a folder and those above it, as mkdir -p does. path is absolute, changed meanwhile, and
 * restored. */
static int make_folders(char *path)
{
	int rc = sys()->mkdirat(AT_FDCWD, path, 0700);
	char *slash = strrchr(path, '/');

	if (rc != -ENOENT || slash == path)
		return rc == -EEXIST ? 0 : rc;
	*slash = '\0';
	rc = make_folders(path);
	*slash = '/';
	rc = rc ?: sys()->mkdirat(AT_FDCWD, path, 0700);
	return rc == -EEXIST ? 0 : rc;
}

/* $XDG_STATE_HOME, made if need be. */
static int open_base(const char *base, bool makes)
{
	char path[PATH_MAX];
	int fd = sys()->openat(AT_FDCWD, base, O_RDONLY | O_DIRECTORY, 0), rc;

	if (fd != -ENOENT || !makes ||
	    snprintf(path, sizeof(path), "%s", base) >= (int)sizeof(path))
		return fd;
	rc = make_folders(path);
	return rc ?: sys()->openat(AT_FDCWD, base, O_RDONLY | O_DIRECTORY, 0);
}

/* sudo and su may leave another user's home: this user's own then. */
static const char *find_home(void)
{
	const char *home = secure_getenv("HOME");
	const struct passwd *user;
	struct stat st;

	if (!home || *home != '/')
		return NULL;
	if (sys()->fstatat(AT_FDCWD, home, &st, 0) || st.st_uid == geteuid())
		return home;
	user = getpwuid(geteuid());
	return user && *user->pw_dir == '/' ? user->pw_dir : home;
}

/* $XDG_STATE_HOME, else the home; NULL: there is neither. */
static const char *find_base(bool *is_home)
{
	const char *state = secure_getenv("XDG_STATE_HOME");

	*is_home = !state || *state != '/';
	return *is_home ? find_home() : state;
}

/* The folder of the file. *fd is closed by the caller. */
static int open_state(int *fd, bool makes)
{
	bool is_home;
	const char *base = find_base(&is_home);
	int rc;

	if (!base)
		return -ENOENT;
	*fd = open_base(base, makes && !is_home);
	rc = *fd < 0 ? *fd : check_owner(*fd);
	if (is_home)
		rc = rc ?: enter(fd, ".local", makes) ?: enter(fd, "state", makes);
	return rc ?: enter(fd, "cpuperf", makes);
}

int last_folder(char path[PATH_MAX])
{
	IO_AUTO_FD int fd = -1;
	bool is_home;
	const char *base = find_base(&is_home);
	int len =
	    base ? snprintf(path, PATH_MAX, "%s%s/cpuperf", base, is_home ? "/.local/state" : "")
		 : 0;

	*path = base ? *path : '\0';
	return len < PATH_MAX ? open_state(&fd, true) : -ENAMETOOLONG;
}

int last_write(const char *path)
{
	IO_AUTO_FD int fd = -1;
	size_t len = strlen(path);

	if (*path != '/' || len >= PATH_MAX)
		return -EINVAL;
	return open_state(&fd, true)
		   ?: sys()->flock(fd, LOCK_EX | LOCK_NB) /* else another session ends now, too */
		   ?: io_write_atomic(fd, name, name, path, len, NULL, NULL);
}

int last_read(char path[PATH_MAX])
{
	IO_AUTO_FD int folder = -1, fd = -1;
	char text[PATH_MAX];
	ssize_t len;
	int rc = open_state(&folder, false);

	if (rc)
		return rc;
	fd = sys()->openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	rc = fd < 0 ? fd : check_owner(fd);
	if (rc)
		return rc;
	len = io_read_full(fd, text, sizeof(text));
	if (len < 0)
		return (int)len;
	if (!len || len == sizeof(text) || *text != '/' || memchr(text, '\0', (size_t)len))
		return -EINVAL;
	memcpy(path, text, (size_t)len);
	path[len] = '\0';
	return 0;
}
