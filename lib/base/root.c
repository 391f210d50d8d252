/*
 * The path root: text of the kernel, from the live system or a captured tree.
 */
#include "base/root.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct root root_live = {.dir = ""};

int root_init(struct root *r, const char *dir)
{
	if (strlen(dir) >= sizeof(r->dir))
		return -ENAMETOOLONG;
	snprintf(r->dir, sizeof(r->dir), "%s", dir);
	return 0;
}

static int full_path(const struct root *r, const char *path, char out[PATH_MAX])
{
	int len = snprintf(out, PATH_MAX, "%s%s", r->dir, path);

	return len < 0 || len >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int root_open(const struct root *r, const char *path)
{
	char full[PATH_MAX];
	int rc = full_path(r, path, full);

	return rc ? rc : sys()->openat(AT_FDCWD, full, O_RDONLY, 0);
}

int root_load(const struct root *r, const char *path, struct buf *out)
{
	char full[PATH_MAX];
	int rc = full_path(r, path, full);

	return rc ? rc : io_load(AT_FDCWD, full, out);
}

int root_load_line(const struct root *r, const char *path, char *line, size_t size)
{
	IO_AUTO_FD int fd = root_open(r, path);
	char text[4096];
	ssize_t n;
	size_t len;

	if (fd < 0)
		return fd;
	n = io_read_full(fd, text, sizeof(text));
	if (n < 0)
		return (int)n;
	for (len = 0; len < (size_t)n && text[len] != '\n' && text[len] != '\0';)
		len++;
	if (len >= size || len == sizeof(text))
		return -EFBIG;
	memcpy(line, text, len);
	line[len] = '\0';
	return 0;
}

int root_load_u64(const struct root *r, const char *path, uint64_t *out)
{
	char line[32];
	int rc = root_load_line(r, path, line, sizeof(line));

	return rc ? rc : str_parse_u64(line, out);
}

static int is_entry(const struct dirent *d)
{
	return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int root_each(const struct root *r, const char *path, int (*fn)(const char *name, void *arg),
	      void *arg)
{
	char full[PATH_MAX];
	struct dirent **names;
	int n, rc = full_path(r, path, full);

	if (rc)
		return rc;
	n = scandir(full, &names, is_entry, by_bytes);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = fn(names[i]->d_name, arg);
		free(names[i]); /* scandir's own memory */
	}
	free(names);
	return rc;
}
