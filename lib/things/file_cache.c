/*
 * Files that stay open: counts descriptors, and reads with pread from the start.
 */
#include "things/file_cache.h"

#include "base/io.h"
#include "base/root.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

/* The kernel assigns the lowest free descriptor. The last ones below the limit are left for callers
 * that cannot do without. */
static bool is_reserved(int fd)
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

int file_cache_init(struct file_cache *k, const struct root *root, const char *folder)
{
	struct rlimit limit;
	int dir;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	dir = root_open(root, folder);
	if (dir < 0)
		return dir;
	*k = (struct file_cache){.dir = dir, .max = limit.rlim_cur / 2};
	return 0;
}

void file_cache_fini(struct file_cache *k)
{
	io_close(&k->dir);
}

bool file_cache_has_room(const struct file_cache *k, size_t nr)
{
	return k->max - k->nr >= nr;
}

int file_cache_open(struct file_cache *k, const char *path)
{
	int fd = file_cache_has_room(k, 1) ? sys()->openat(k->dir, path, O_RDONLY, 0) : -EMFILE;

	if (fd >= 0 && is_reserved(fd)) {
		io_close(&fd);
		fd = -EMFILE;
	}
	if (fd >= 0)
		k->nr++;
	else if (fd == -EMFILE || fd == -ENFILE)
		k->max = k->nr; /* leave the rest for others */
	return fd == -ENFILE ? -EMFILE : fd;
}

void file_cache_close(struct file_cache *k, int *fd)
{
	if (*fd >= 0)
		k->nr--;
	io_close(fd);
}

ssize_t file_cache_read(const struct file_cache *k, int fd, const char *path, char *text,
			size_t size)
{
	IO_AUTO_FD int once = -1;
	ssize_t n;

	if (fd < 0) {
		once = sys()->openat(k->dir, path, O_RDONLY, 0);
		fd = once;
	}
	if (fd < 0)
		return fd;
	do
		n = sys()->pread(fd, text, size, 0);
	while (n == -EINTR);
	if (n == (ssize_t)size)
		return -EFBIG;
	if (n >= 0)
		text[n] = '\0';
	return n;
}
