/*
 * Files below one folder that are read repeatedly: they stay open as long as descriptors are left;
 * else each reading opens them.
 */
#ifndef THINGS_FILE_CACHE_H
#define THINGS_FILE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct root;

struct file_cache {
	int dir;        /* owned: the folder, open */
	size_t nr, max; /* descriptors in use, and at most */
};

/* max becomes half of the soft limit of open files. 0 or -errno. */
int file_cache_init(struct file_cache *k, const struct root *root, const char *folder);
void file_cache_fini(struct file_cache *k); /* after every file_cache_close */

/* True if nr more files can stay open. */
bool file_cache_has_room(const struct file_cache *k, size_t nr);
/* Opens path, relative to the folder. A descriptor, or -errno; -EMFILE if only the last 16 below
 * the limit are left, which are reserved for others. */
int file_cache_open(struct file_cache *k, const char *path);
void file_cache_close(struct file_cache *k, int *fd); /* as io_close */

/* Reads the whole text of fd, or of path if fd is negative; NUL-terminated. Its length, or -errno
 * (-EFBIG: it and the NUL do not fit in size). */
ssize_t file_cache_read(const struct file_cache *k, int fd, const char *path, char *text,
			size_t size);

#endif
