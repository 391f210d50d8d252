/*
 * Kept files: counted descriptors, and pread from the start.
 */
#include "collect/kept.h"

#include "base/io.h"
#include "base/root.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

/* Descriptors are given from the lowest on. The last ones stay for the files of others, who would
 * fail without. */
static bool is_of_reserve(int fd)
{
	enum { RESERVE = 16 };
	struct rlimit limit;
	rlim_t nr = RESERVE;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	if (nr > limit.rlim_cur / 4)
		nr = limit.rlim_cur / 4;
	return (rlim_t)fd >= limit.rlim_cur - nr;
}

int kept_init(struct kept *k, const struct root *root, const char *folder)
{
	struct rlimit limit;
	int dir;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	dir = root_open(root, folder);
	if (dir < 0)
		return dir;
	*k = (struct kept){.dir = dir, .max = limit.rlim_cur / 2};
	return 0;
}

void kept_fini(struct kept *k)
{
	io_close(&k->dir);
}

bool kept_has_room(const struct kept *k, size_t nr)
{
	return k->max - k->nr >= nr;
}

int kept_open(struct kept *k, const char *path)
{
	int fd = kept_has_room(k, 1) ? sys()->openat(k->dir, path, O_RDONLY, 0) : -EMFILE;

	if (fd >= 0 && is_of_reserve(fd)) {
		io_close(&fd);
		fd = -EMFILE;
	}
	if (fd >= 0)
		k->nr++;
	else if (fd == -EMFILE || fd == -ENFILE)
		k->max = k->nr; /* what is left is for others */
	return fd == -ENFILE ? -EMFILE : fd;
}

void kept_close(struct kept *k, int *fd)
{
	if (*fd >= 0)
		k->nr--;
	io_close(fd);
}

static ssize_t read_text(int fd, char *text, size_t size)
{
	ssize_t n;

	do
		n = sys()->pread(fd, text, size, 0);
	while (n == -EINTR);
	if (n == (ssize_t)size)
		return -EFBIG;
	if (n >= 0)
		text[n] = '\0';
	return n;
}

ssize_t kept_read(const struct kept *k, int fd, const char *path, char *text, size_t size)
{
	IO_AUTO_FD int once = -1;

	if (fd < 0) {
		once = sys()->openat(k->dir, path, O_RDONLY, 0);
		fd = once;
	}
	return fd < 0 ? fd : read_text(fd, text, size);
}
