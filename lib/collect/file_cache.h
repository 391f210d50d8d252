/*
 * Files below one folder that are read repeatedly: they stay open while there are descriptors, else
 * each reading opens them again.
 */
#ifndef COLLECT_FILE_CACHE_H
#define COLLECT_FILE_CACHE_H

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
/* A descriptor, or -errno; -EMFILE where there is none left but the last 16 below the limit, which
 * are for others. path is below the folder. */
int file_cache_open(struct file_cache *k, const char *path);
void file_cache_close(struct file_cache *k, int *fd); /* as io_close */

/* The file's text from its start, NUL-terminated: of fd if that is one, else of path. Its length,
 * or -errno (-EFBIG: there is no room for it and the NUL). */
ssize_t file_cache_read(const struct file_cache *k, int fd, const char *path, char *text,
			size_t size);

#endif
