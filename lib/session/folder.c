/*
 * Folders of sessions. Must not remove a file that may not be a session's.
 */
#include "session/folder.h"

#include "base/err.h"
#include "base/io.h"
#include "base/str.h"
#include "base/sys.h"
#include "session/lock.h"
#include "spec/cpsession.h"
#include "spec/last.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The folder of one session, locked. */
struct folder {
	const char *path;
	int fd;
	bool is_part; /* of a job, and in its folder */
	struct lock lock;
	char lock_path[PATH_MAX + 32];
	struct err *e;
};

/* Judges by the name; a killed session leaves locks and temporary files (".NAME.tmp"). */
static bool is_session_name(const char *name)
{
	static const char *const ends[] = {".cpuperf", ".cpsession", ".lock", ".tmp"};

	name += *name == '.';
	if (strcmp(name, CPSESSION_FOLDER_HOST) == 0 ||
	    strcmp(name, CPSESSION_FOLDER_HOST ".tmp") == 0)
		return true;
	if (strncmp(name, CPSESSION_FOLDER_PREFIX ".", sizeof(CPSESSION_FOLDER_PREFIX)) != 0)
		return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (str_stem(name, ends[i]))
			return true;
	return false;
}

static int refuse(struct err *e, int code, const char *path, const char *name, const char *why)
{
	err_set_at(e, code, path, 0, 0, "is not the folder of a session of yours: %s%s%s", name,
		   *name ? " " : "", why);
	err_hint(e, "name another folder: --output=NAME");
	return code;
}

static bool is_self_or_above(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* A folder in it that has host.json: the part of a job. */
static int open_part(const struct folder *f, const char *name)
{
	int fd = f->is_part ? -ENOTDIR
			    : sys()->openat(f->fd, name,
					    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat st;

	if (fd < 0)
		return fd;
	if (sys()->fstatat(fd, CPSESSION_FOLDER_HOST, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    sys()->fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 && st.st_uid == geteuid())
		return fd;
	io_close(&fd);
	return -ENOENT;
}

static int check_name(const char *name, void *arg);

static int check_part(const struct folder *f, int fd, const char *name)
{
	char path[PATH_MAX + NAME_MAX + 32];
	struct folder part = {.path = path, .fd = fd, .is_part = true, .e = f->e};

	snprintf(path, sizeof(path), "%s/%s/" CPSESSION_FOLDER_MANIFEST, f->path, name);
	if (cpsession_is_locked(path))
		return refuse(f->e, -EBUSY, f->path, name, "is being recorded");
	*strrchr(path, '/') = '\0';
	return io_each_name(fd, check_name, &part);
}

static int check_name(const char *name, void *arg)
{
	const struct folder *f = arg;
	IO_AUTO_FD int part = -1;
	struct stat st;

	if (is_self_or_above(name))
		return 0;
	part = open_part(f, name);
	if (part >= 0)
		return check_part(f, part, name);
	if (!is_session_name(name))
		return refuse(f->e, -EEXIST, f->path, name, "is not a session's file");
	if (sys()->fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0; /* it was removed */
	if (!S_ISREG(st.st_mode))
		return refuse(f->e, -EEXIST, f->path, name, "is not a regular file");
	return st.st_uid == geteuid()
		   ? 0
		   : refuse(f->e, -EPERM, f->path, name, "belongs to another user");
}

static int remove_name(const char *name, void *arg)
{
	const struct folder *f = arg;
	IO_AUTO_FD int fd = is_self_or_above(name) ? -1 : open_part(f, name);
	struct folder part = {.fd = fd, .is_part = true};
	int rc = 0;

	if (fd >= 0)
		rc = io_each_name(fd, remove_name, &part)
			 ?: sys()->unlinkat(f->fd, name, AT_REMOVEDIR);
	else if (is_session_name(name))
		rc = sys()->unlinkat(f->fd, name, 0);
	return rc == -ENOENT ? 0 : rc;
}

/* Whether another user owns what has the name, which may be a link. */
static bool is_foreign(const char *path, struct stat *st)
{
	return !sys()->fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW) && st->st_uid != geteuid();
}

/* Opens the folder if it contains only a session. 0; -ENOENT: no folder; -errno with *e. */
static int open_folder(struct folder *f, const char *path, struct err *e)
{
	struct stat st;
	int rc;

	*f = (struct folder){.path = path, .e = e, .lock = {.fd = -1}};
	f->fd = sys()->openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (f->fd == -ENOENT)
		return f->fd;
	if (f->fd == -ENOTDIR || f->fd == -ELOOP)
		return refuse(e, is_foreign(path, &st) ? -EPERM : -EEXIST, path, "",
			      "it is not a folder");
	rc = f->fd < 0 ? f->fd : sys()->fstatat(f->fd, "", &st, AT_EMPTY_PATH);
	if (rc)
		return err_set_at(e, rc, path, 0, 0, "cannot be opened: %s", strerror(-rc));
	if (st.st_uid != geteuid())
		return refuse(e, -EPERM, path, "", "it belongs to another user");
	rc = io_each_name(f->fd, check_name, f);
	if (rc && !e->code)
		err_set_at(e, rc, path, 0, 0, "cannot be read: %s", strerror(-rc));
	return rc;
}

/* Also locks it. */
static int open_session(struct folder *f, const char *path, struct err *e)
{
	int rc = open_folder(f, path, e);

	if (rc)
		return rc;
	snprintf(f->lock_path, sizeof(f->lock_path), "%s/%s.lock", path, CPSESSION_FOLDER_MANIFEST);
	rc = lock_acquire(&f->lock, f->fd, CPSESSION_FOLDER_MANIFEST ".lock", f->lock_path, e);
	if (rc == -EBUSY)
		err_hint(e, "name another folder: --output=NAME");
	return rc;
}

static void close_session(struct folder *f)
{
	lock_release(&f->lock);
	io_close(&f->fd);
}

/* Removes its files and, if and_folder, the folder; else only this user may enter it. */
static int clear(struct folder *f, bool and_folder, struct err *e)
{
	int rc = io_each_name(f->fd, remove_name, f);

	if (rc == 0)
		rc = and_folder ? sys()->unlinkat(AT_FDCWD, f->path, AT_REMOVEDIR)
				: sys()->fchmod(f->fd, 0700);
	return rc ? err_set_at(e, rc, f->path, 0, 0, "cannot be replaced: %s", strerror(-rc)) : 0;
}

/* Renames the session at path to path.old. */
static int move_away(const char *path, struct err *e)
{
	char old_path[PATH_MAX];
	struct folder old;
	int rc;

	if (snprintf(old_path, sizeof(old_path), "%s.old", path) >= (int)sizeof(old_path))
		return err_set(e, -ENAMETOOLONG, "%s: the name is too long", path);
	rc = open_session(&old, old_path, e) ?: clear(&old, true, e);
	close_session(&old);
	if (rc && rc != -ENOENT)
		return rc;
	rc = sys()->renameat2(AT_FDCWD, path, AT_FDCWD, old_path, RENAME_NOREPLACE);
	return rc ? err_set_at(e, rc, path, 0, 0, "cannot be renamed to %s: %s", old_path,
			       strerror(-rc))
		  : 0;
}

/* Another user may own the folder above, and exchange this one at any time: what is opened is
 * checked. */
static int make(struct folder *f, const char *path, struct err *e)
{
	int rc = sys()->mkdirat(AT_FDCWD, path, 0700);

	f->fd = -1;
	if (rc)
		return err_set_at(e, rc, path, 0, 0, "cannot be made: %s", strerror(-rc));
	rc = open_folder(f, path, e);
	return rc == -ENOENT ? refuse(e, -EEXIST, path, "", "it was removed") : rc;
}

int session_folder_make(const char *path, bool keeps_old, int *fd, struct err *e)
{
	struct folder f;
	int rc = open_session(&f, path, e);

	*fd = -1;
	if (rc == 0)
		rc = keeps_old ? move_away(path, e) : clear(&f, false, e);
	lock_release(&f.lock);
	if (rc == -ENOENT || (rc == 0 && keeps_old)) {
		io_close(&f.fd);
		rc = make(&f, path, e);
	}
	if (rc)
		io_close(&f.fd);
	else
		*fd = f.fd;
	return rc;
}

int session_folder_check(const char *path, struct err *e)
{
	struct folder f;
	int rc = open_session(&f, path, e);

	if (rc == -ENOENT)
		rc = make(&f, path, e) ?: sys()->unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
	close_session(&f);
	return rc;
}

int session_folder_make_beside(const char *path, char beside[PATH_MAX], int *fd, struct err *e)
{
	enum { MAX_NUMBER = 99 };
	struct err why = {0};
	int rc = -EBUSY;

	*fd = -1;
	for (unsigned i = 2; rc && i <= MAX_NUMBER; i++) {
		why = (struct err){0};
		if (snprintf(beside, PATH_MAX, "%s%s.%u", strchr(path, '/') ? "" : "./", path, i) >=
		    PATH_MAX)
			return err_set(e, -ENAMETOOLONG, "%s: the name is too long", path);
		rc = session_folder_make(beside, true, fd, &why);
	}
	if (rc)
		*e = why;
	return rc;
}

bool session_folder_is_foreign(int rc)
{
	return rc == -EPERM || rc == -EACCES || rc == -EROFS;
}

void session_folder_explain(const char *path, const struct err *e, char *why, size_t size)
{
	const char *here = strchr(path, '/') ? "" : "./", *old = "";
	char old_path[PATH_MAX];
	const struct passwd *owner;
	struct stat st;

	if (e->code == -EBUSY) {
		snprintf(why, size, "another session is using %s%s", here, path);
		return;
	}
	snprintf(old_path, sizeof(old_path), "%s.old", path);
	if (!is_foreign(path, &st)) {
		old = ".old";
		if (!is_foreign(old_path, &st)) {
			snprintf(why, size, "%s%s %s", here, path, e->msg);
			return;
		}
	}
	owner = getpwuid(st.st_uid);
	if (owner)
		snprintf(why, size, "%s%s%s belongs to %s", here, path, old, owner->pw_name);
	else
		snprintf(why, size, "%s%s%s belongs to user %u", here, path, old,
			 (unsigned)st.st_uid);
}

/* The folder that this one is in, or would be made in. */
static int open_above(const char *path, int flags)
{
	const char *slash = strrchr(path, '/');
	char above[PATH_MAX];

	if (snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		     slash ? path : ".") >= (int)sizeof(above))
		return -ENAMETOOLONG;
	return sys()->openat(AT_FDCWD, above, flags, 0600);
}

/* A file without a name in the folder, or where that would be made. */
static int open_nearest(const char *path)
{
	int fd = sys()->openat(AT_FDCWD, path, O_WRONLY | O_TMPFILE, 0600);

	return fd == -ENOENT ? open_above(path, O_WRONLY | O_TMPFILE) : fd;
}

int session_folder_take_turn(const char *path)
{
	enum { TRIES = 100, PAUSE_MS = 10 };
	int fd = open_above(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	int rc = fd < 0 ? fd : sys()->flock(fd, LOCK_EX | LOCK_NB);

	for (int i = 0; rc == -EWOULDBLOCK && i < TRIES; i++) {
		(void)poll(NULL, 0, PAUSE_MS);
		rc = sys()->flock(fd, LOCK_EX | LOCK_NB);
	}
	if (rc)
		io_close(&fd);
	return rc ? -1 : fd;
}

struct used {
	int fd;
	uint64_t bytes;
};

static int add_used(const char *name, void *arg)
{
	struct used *u = arg;
	struct stat st;

	if (sys()->fstatat(u->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		u->bytes += (uint64_t)st.st_blocks * 512;
	return 0;
}

/* Of the session that the new one removes. */
static uint64_t freed_bytes(const char *path, bool keeps_old)
{
	char old_path[PATH_MAX];
	struct used used = {.bytes = 0};

	snprintf(old_path, sizeof(old_path), "%s%s", path, keeps_old ? ".old" : "");
	used.fd =
	    sys()->openat(AT_FDCWD, old_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (used.fd >= 0)
		(void)io_each_name(used.fd, add_used, &used);
	io_close(&used.fd);
	return used.bytes;
}

/* By a file without a name: what is free is not what a quota allows. */
bool session_folder_is_full(const char *path, bool keeps_old)
{
	enum { SHORT_SESSION_BYTES = 1 << 20 };
	IO_AUTO_FD int fd = open_nearest(path);
	int rc = fd < 0 ? fd : sys()->fallocate(fd, 0, 0, SHORT_SESSION_BYTES);

	return (rc == -ENOSPC || rc == -EDQUOT) &&
	       freed_bytes(path, keeps_old) < SHORT_SESSION_BYTES;
}

/* A name that nobody can predict. */
static int make_random(const char *place, char path[PATH_MAX], int *fd, struct err *e)
{
	char name[IO_RANDOM_NAME_BYTES];
	int rc = io_random_name(name);
	struct folder f;

	*fd = -1;
	if (rc == 0 && /* without the dot, so that the folder is visible */
	    snprintf(path, PATH_MAX, "%s/%s", place, name + 1) >= PATH_MAX)
		rc = -ENAMETOOLONG;
	if (rc)
		return err_set_at(e, rc, place, 0, 0, "no folder can be made there: %s",
				  strerror(-rc));
	rc = make(&f, path, e);
	if (rc)
		io_close(&f.fd);
	else
		*fd = f.fd;
	return rc;
}

int session_folder_make_private(char path[PATH_MAX], int *fd, struct err *e)
{
	char state[PATH_MAX];
	struct err ignored = {0};

	if (last_folder(state) == 0) {
		if (snprintf(path, PATH_MAX, "%s/" CPSESSION_FOLDER, state) < PATH_MAX &&
		    session_folder_make(path, true, fd, &ignored) == 0)
			return 0;
		if (make_random(state, path, fd, &ignored) == 0)
			return 0;
	}
	return make_random("/tmp", path, fd, e);
}
