/*
 * Complete reads and writes, and files that appear complete or not at all.
 */
#include "base/io.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* at: NULL: at the descriptor's offset. */
static ssize_t read_full(int fd, char *p, size_t len, const uint64_t *at)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < len && n) {
		n = at ? sys()->pread(fd, p + done, len - done, (off_t)(*at + done))
		       : sys()->read(fd, p + done, len - done);
		if (n < 0 && n != -EINTR)
			return n;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

ssize_t io_read_full(int fd, void *buf, size_t len)
{
	return read_full(fd, buf, len, NULL);
}

ssize_t io_pread_full(int fd, void *buf, size_t len, uint64_t at)
{
	return read_full(fd, buf, len, &at);
}

static int write_full(int fd, const char *p, size_t len, const uint64_t *at)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = at ? sys()->pwrite(fd, p + done, len - done, (off_t)(*at + done))
			       : sys()->write(fd, p + done, len - done);

		if (n < 0 && n != -EINTR)
			return (int)n;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int io_write_full(int fd, const void *buf, size_t len)
{
	return write_full(fd, buf, len, NULL);
}

int io_pwrite_full(int fd, const void *buf, size_t len, uint64_t at)
{
	return write_full(fd, buf, len, &at);
}

/* Drops the first len bytes, and empty pieces. */
static void advance(struct iovec **piece, size_t *nr, size_t len)
{
	for (; *nr && len >= (*piece)->iov_len; ++*piece, --*nr)
		len -= (*piece)->iov_len;
	if (*nr) {
		(*piece)->iov_base = (char *)(*piece)->iov_base + len;
		(*piece)->iov_len -= len;
	}
}

int io_writev_full(int fd, struct iovec *piece, size_t nr)
{
	advance(&piece, &nr, 0);
	while (nr) {
		ssize_t n = sys()->writev(fd, piece, (int)nr);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		advance(&piece, &nr, (size_t)n);
	}
	return 0;
}

static int check_regular(const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return 0;
	return S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL;
}

/* Closes it if it is none. */
static int check_opened(int fd, struct stat *st)
{
	int rc = sys()->fstatat(fd, "", st, AT_EMPTY_PATH);

	rc = rc ? rc : check_regular(st);
	if (rc)
		io_close(&fd);
	return rc ? rc : fd;
}

/* Checks before opening, because opening a device may have effects; and after, because the file may
 * have been replaced. O_NONBLOCK: do not wait for the writer of a FIFO. */
int io_open_regular(int dirfd, const char *path, int flags, struct stat *st)
{
	int links = flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0, fd;
	int rc = sys()->fstatat(dirfd, path, st, links);

	if (rc == 0 && S_ISLNK(st->st_mode))
		rc = -ELOOP;
	rc = rc ? rc : check_regular(st);
	if (rc)
		return rc;
	fd = sys()->openat(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags, 0);
	return fd < 0 ? fd : check_opened(fd, st);
}

uint32_t io_writer(const struct stat *st)
{
	const bool is_shared =
	    st->st_mode & S_IWOTH || (!st->st_uid && st->st_gid && st->st_mode & S_IWGRP);

	return is_shared ? IO_NOBODY : st->st_uid;
}

uint32_t io_writer_of_both(uint32_t uid, uint32_t other)
{
	if (!uid || !other)
		return uid ? uid : other;
	return uid == other ? uid : IO_NOBODY;
}

/* Who can write a folder can make there a second name of any file (fs.protected_hardlinks = 0). */
static int check_names(int dirfd, const char *path, const struct stat *st)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	struct stat of_folder;
	int rc;

	if (st->st_nlink < 2 || st->st_mode & S_IROTH)
		return 0;
	rc = snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		      slash ? path : ".");
	if (rc < 0 || (size_t)rc >= sizeof(folder))
		return -ENAMETOOLONG;
	rc = sys()->fstatat(dirfd, folder, &of_folder, 0);
	if (rc == 0 && io_writer(&of_folder) && of_folder.st_uid != st->st_uid)
		rc = -EMLINK;
	return rc;
}

int io_open_linked(int dirfd, const char *path, int flags, struct stat *st)
{
	struct stat name;
	bool is_link;
	int rc, fd;

	if (geteuid())
		return io_open_regular(dirfd, path, flags, st);
	rc = sys()->fstatat(dirfd, path, &name, AT_SYMLINK_NOFOLLOW);
	if (rc)
		return rc;
	is_link = S_ISLNK(name.st_mode);
	fd = io_open_regular(dirfd, path, is_link ? flags : flags | O_NOFOLLOW, st);
	if (fd < 0)
		return fd;
	if (is_link)
		rc = name.st_uid && name.st_uid != st->st_uid ? -ELOOP : 0;
	else
		rc = check_names(dirfd, path, st);
	if (rc)
		io_close(&fd);
	return rc ? rc : fd;
}

/* A descriptor of the path alone is checked: to make one has no effects. */
int io_open_regular_within(int dirfd, const char *path, int flags, struct stat *st)
{
	int fd = sys()->openat_within(dirfd, path, O_PATH | flags), rc;

	if (fd < 0)
		return fd;
	rc = sys()->fstatat(fd, "", st, AT_EMPTY_PATH);
	io_close(&fd);
	if (rc == 0 && S_ISLNK(st->st_mode))
		rc = -ELOOP;
	rc = rc ? rc : check_regular(st);
	if (rc)
		return rc;
	fd = sys()->openat_within(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags);
	return fd < 0 ? fd : check_opened(fd, st);
}

int io_named_descriptor(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
	static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
	uint64_t number;

	for (int i = 0; i < 3; i++)
		if (strcmp(path, names[i]) == 0)
			return i;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		size_t len = strlen(folders[i]);

		if (strncmp(path, folders[i], len) == 0 &&
		    str_parse_u64(path + len, &number) == 0 && number <= INT_MAX)
			return (int)number;
	}
	return -1;
}

const char *io_reason(int rc)
{
	return rc == -EINVAL   ? "it is not a regular file"
	       : rc == -ELOOP  ? "it is a link that is not followed"
	       : rc == -EMLINK ? "it has another name too, under which it may be another's file"
			       : strerror(-rc);
}

static int open_input(const char *path,
		      int (*open_file)(int dirfd, const char *path, int flags, struct stat *st),
		      struct err *e)
{
	struct stat st;
	int named = io_named_descriptor(path), fd;

	if (named >= 0) {
		fd = fcntl(named, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		fd = fd < 0 ? -errno : fd;
	} else {
		fd = open_file(AT_FDCWD, path, 0, &st);
	}
	if (fd >= 0)
		return fd;
	return err_set_at(e, fd, path, 0, 0, "cannot be read: %s", io_reason(fd));
}

int io_open_input(const char *path, struct err *e)
{
	return open_input(path, io_open_regular, e);
}

int io_open_linked_input(const char *path, struct err *e)
{
	return open_input(path, io_open_linked, e);
}

int io_sync(int fd)
{
	int rc;

	do
		rc = sys()->fsync(fd);
	while (rc == -EINTR);
	return rc == -EINVAL || rc == -EROFS ? 0 : rc;
}

int io_load(int dirfd, const char *path, struct buf *out)
{
	IO_AUTO_FD int fd = sys()->openat(dirfd, path, O_RDONLY, 0);

	return fd < 0 ? fd : io_load_fd(fd, out);
}

int io_load_fd(int fd, struct buf *out)
{
	enum { STEP_BYTES = 4096 };

	for (;;) {
		size_t room = out->max_bytes - out->len;
		char beyond,
		    *p = room ? buf_reserve(out, room < STEP_BYTES ? room : STEP_BYTES) : &beyond;
		ssize_t n;

		if (!p)
			return buf_error(out);
		n = io_read_full(fd, p, !room ? 1 : room < STEP_BYTES ? room : STEP_BYTES);
		if (n <= 0)
			return (int)n;
		if (!room)
			return -EFBIG;
		out->len += (size_t)n;
		out->data[out->len] = '\0';
	}
}

void io_close(int *fd)
{
	if (*fd >= 0)
		sys()->close(*fd);
	*fd = -1;
}

void io_close_cleanup(int *fd)
{
	io_close(fd);
}

int io_random_name(char name[IO_RANDOM_NAME_BYTES])
{
	uint8_t random[8];
	int rc = sys()->getrandom(random, sizeof(random));

	if (rc < 0)
		return rc;
	snprintf(name, IO_RANDOM_NAME_BYTES, ".cpuperf-");
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(name + IO_RANDOM_NAME_BYTES - 1 - 2 * (sizeof(random) - i), 3, "%02x",
			 random[i]);
	return 0;
}

/* Makes an unnamed file where the file system lacks O_TMPFILE. */
static int open_and_unlink(const char *folder)
{
	IO_AUTO_FD int dirfd = sys()->openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
	char name[IO_RANDOM_NAME_BYTES];
	int rc = dirfd < 0 ? dirfd : io_random_name(name), fd;

	if (rc < 0)
		return rc;
	fd = sys()->openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	rc = sys()->unlinkat(dirfd, name, 0);
	if (rc)
		io_close(&fd);
	return rc ? rc : fd;
}

int io_open_temporary(int *fd, struct err *e)
{
	const char *folder = secure_getenv("TMPDIR");
	int rc;

	if (!folder || !*folder)
		folder = "/tmp";
	rc = sys()->openat(AT_FDCWD, folder, O_RDWR | O_TMPFILE, 0600);
	if (rc == -EOPNOTSUPP || rc == -EISDIR)
		rc = open_and_unlink(folder);
	if (rc < 0) {
		err_set(e, rc, "%s: cannot create a temporary file there: %s", folder,
			strerror(-rc));
		err_hint(e, "TMPDIR names another folder");
		return rc;
	}
	*fd = rc;
	return 0;
}

int io_open_folder(const char *path, int *dirfd, const char **name, struct err *e)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	char folder[PATH_MAX] = ".";
	size_t len = (size_t)(base - path);
	int fd;

	if (!*base)
		return err_set(e, -EINVAL, "%s: is a folder, not a file", path);
	if (len >= sizeof(folder) || strlen(base) > NAME_MAX)
		return err_set(e, -ENAMETOOLONG, "%s: the path is too long", path);
	if (len)
		snprintf(folder, sizeof(folder), "%.*s", (int)len, path);
	fd = sys()->openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0) {
		err_set(e, fd, "%s: cannot open the folder %s: %s", path, folder, strerror(-fd));
		return fd;
	}
	*dirfd = fd;
	*name = base;
	return 0;
}

void io_set_nonblocking(int fd)
{
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

int io_each_name(int dirfd, int (*fn)(const char *name, void *arg), void *arg)
{
	int fd = sys()->openat(dirfd, ".", O_RDONLY | O_DIRECTORY, 0), rc = 0;
	struct dirent *d;
	DIR *dir;

	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		sys()->close(fd);
		return -ENOMEM;
	}
	while (rc == 0) {
		errno = 0;
		d = readdir(dir);
		rc = d ? fn(d->d_name, arg) : -errno;
		if (!d)
			break;
	}
	closedir(dir);
	return rc;
}

static int refuse_existing(const char *path, struct err *e)
{
	return err_set(e, -EEXIST, "%s: exists and was not written by cpuperf: not overwritten",
		       path);
}

static int fail(const char *path, int rc, struct err *e)
{
	return err_set(e, rc, "%s: cannot be written: %s", path, strerror(-rc));
}

int io_check_replaceable(int dirfd, const char *name, const char *path,
			 io_may_replace_fn *may_replace, struct err *e)
{
	struct stat st;
	int rc = sys()->fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW);

	if (rc)
		return rc == -ENOENT ? 0 : fail(path, rc, e);
	if (st.st_uid != geteuid())
		return err_set(e, -EPERM, "%s: belongs to another user (uid %u): not overwritten",
			       path, (unsigned)st.st_uid);
	if (!S_ISREG(st.st_mode))
		return refuse_existing(path, e);

	/* O_NONBLOCK: do not hang if it is a FIFO by now */
	IO_AUTO_FD int fd = sys()->openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

	if (fd < 0)
		return fail(path, fd, e);
	rc = may_replace(fd);
	if (rc < 0)
		return fail(path, rc, e);
	return rc ? 0 : refuse_existing(path, e);
}

bool io_is_taken(int rc)
{
	return rc == -EPERM || rc == -EEXIST || rc == -EISDIR || rc == -ENOTEMPTY || rc == -ELOOP;
}

static int create_new(int dirfd, const char *name)
{
	return sys()->openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

int io_create(int dirfd, const char *name, const char *path, io_may_replace_fn *may_replace,
	      int *fd, struct err *e)
{
	int rc = create_new(dirfd, name);

	if (rc == -EEXIST) {
		rc = io_check_replaceable(dirfd, name, path, may_replace, e);
		if (rc)
			return rc;
		rc = sys()->unlinkat(dirfd, name, 0);
		rc = rc && rc != -ENOENT ? rc : create_new(dirfd, name);
	}
	if (rc < 0)
		return fail(path, rc, e);
	*fd = rc;
	return 0;
}

/* Removes a file of this user, which a killed process left: the caller holds the lock of the name.
 * If the name is taken otherwise, uses a random one. */
static int create_temporary(int dirfd, char temporary[NAME_MAX + 1])
{
	int fd = create_new(dirfd, temporary);
	struct stat st;

	if (fd == -EEXIST && sys()->fstatat(dirfd, temporary, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && st.st_uid == geteuid()) {
		sys()->unlinkat(dirfd, temporary, 0);
		fd = create_new(dirfd, temporary);
	}
	if (fd != -EEXIST)
		return fd;
	return io_random_name(temporary) ?: create_new(dirfd, temporary);
}

int io_write_temporary(int dirfd, const char *name, const char *path, const void *data, size_t len,
		       bool is_durable, char temporary[NAME_MAX + 1], struct err *e)
{
	int fd, closed, rc;

	if (snprintf(temporary, NAME_MAX + 1, ".%s.tmp", name) > NAME_MAX)
		return fail(path, -ENAMETOOLONG, e);
	fd = create_temporary(dirfd, temporary);
	if (fd < 0)
		return fail(path, fd, e);
	rc = io_write_full(fd, data, len);
	if (rc == 0 && is_durable)
		rc = io_sync(fd);
	closed = sys()->close(fd); /* a network file system may report a full disk only here */
	if (rc == 0 && closed != -EINTR)
		rc = closed;
	if (rc == 0)
		return 0;
	sys()->unlinkat(dirfd, temporary, 0);
	return fail(path, rc, e);
}

/* A new name costs one rename; only an existing file is examined. */
int io_publish(int dirfd, const char *temporary, const char *name, const char *path,
	       io_may_replace_fn *may_replace, struct err *e)
{
	int rc = -EEXIST;

	if (may_replace)
		rc = sys()->renameat2(dirfd, temporary, dirfd, name, RENAME_NOREPLACE);
	if (rc != -EEXIST && rc != -EINVAL && rc != -ENOSYS)
		return rc ? fail(path, rc, e) : 0;
	rc = may_replace ? io_check_replaceable(dirfd, name, path, may_replace, e) : 0;
	if (rc)
		return rc;
	rc = sys()->renameat2(dirfd, temporary, dirfd, name, 0);
	return rc ? fail(path, rc, e) : 0;
}

int io_write_atomic(int dirfd, const char *name, const char *path, const void *data, size_t len,
		    io_may_replace_fn *may_replace, struct err *e)
{
	char temporary[NAME_MAX + 1];
	int rc = io_write_temporary(dirfd, name, path, data, len, false, temporary, e);

	if (rc)
		return rc;
	rc = io_publish(dirfd, temporary, name, path, may_replace, e);
	if (rc)
		sys()->unlinkat(dirfd, temporary, 0);
	return rc;
}
