/*
 * The folder is watched, not the file: it may come and go, and a link is not followed.
 */
#include "dump_file.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WANTED = IN_CLOSE_WRITE | IN_MOVED_TO, MAX_READS = 16 };

static int refuse(struct err *e, int rc, const char *path, const char *why)
{
	snprintf(e->source, sizeof(e->source), "dump_file");
	return err_set(e, rc, "%s: %s", path, why);
}

/* The last name, and the folder that has it. */
static int open_folder(const char *path, struct dump_file *out, struct err *e)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = slash == path ? 1 : slash ? (size_t)(slash - path) : 1;
	char folder[PATH_MAX];

	if (!*name || strlen(name) > NAME_MAX || len >= sizeof(folder) || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return refuse(e, -EINVAL, path, "is not the name of a file");
	snprintf(folder, sizeof(folder), "%.*s", (int)len, slash ? path : ".");
	snprintf(out->name, sizeof(out->name), "%s", name);
	out->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return out->folder < 0 ? refuse(e, -errno, folder, strerror(errno)) : 0;
}

/* What is there already, if anything is. */
static int check_file(const struct dump_file *d, struct err *e)
{
	struct stat st;

	if (fstatat(d->folder, d->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : refuse(e, -errno, d->path, strerror(errno));
	if (S_ISLNK(st.st_mode))
		return refuse(e, -ELOOP, d->path, "is a link, which would not be followed");
	if (S_ISDIR(st.st_mode))
		return refuse(e, -EISDIR, d->path, "is a folder");
	return S_ISREG(st.st_mode) ? 0 : refuse(e, -EINVAL, d->path, "is no regular file");
}

static int watch_folder(struct dump_file *out, struct err *e)
{
	char at[sizeof("/proc/self/fd/2147483647")];

	snprintf(at, sizeof(at), "/proc/self/fd/%d", out->folder);
	out->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (out->fd < 0 || inotify_add_watch(out->fd, at, WANTED | IN_ONLYDIR) < 0)
		return refuse(e, -errno, out->path, strerror(errno));
	return 0;
}

int dump_file_open(const char *path, struct dump_file *out, struct err *e)
{
	int rc;

	*out = (struct dump_file){.fd = -1, .folder = -1, .path = path};
	if (!*path)
		return 0;
	rc = open_folder(path, out, e) ?: check_file(out, e) ?: watch_folder(out, e);
	if (rc)
		dump_file_close(out);
	return rc;
}

void dump_file_close(struct dump_file *d)
{
	io_close(&d->fd);
	io_close(&d->folder);
}

/* Anyone may have a file in a folder like /tmp. */
static bool is_wanted(struct dump_file *d, struct err *why)
{
	const char *what = NULL;
	struct stat st;

	if (fstatat(d->folder, d->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT; /* it was written, and removed since */
	if (!S_ISREG(st.st_mode))
		what = "is no regular file: it makes no dump";
	else if (st.st_uid != geteuid() && st.st_uid != getuid() && st.st_uid != 0)
		what = "belongs to another user: it makes no dump";
	if (what && !d->has_warned) {
		refuse(why, -EPERM, d->path, what);
		d->has_warned = true;
	}
	return !what;
}

bool dump_file_read(struct dump_file *d, struct err *why)
{
	_Alignas(struct inotify_event) char bytes[4096];
	bool is_written = false;
	ssize_t len;

	for (int i = 0; i < MAX_READS; i++) {
		len = read(d->fd, bytes, sizeof(bytes));
		if (len <= 0)
			break;
		for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= len;) {
			const struct inotify_event *event = (const void *)(bytes + at);

			/* where events were lost, it may have been among them */
			is_written |= event->mask & IN_Q_OVERFLOW ||
				      (event->len && strcmp(event->name, d->name) == 0);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	return is_written && is_wanted(d, why);
}
