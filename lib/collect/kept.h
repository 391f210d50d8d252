/*
 * Files below one folder that are read again and again: kept open while there are descriptors for
 * them, else opened anew each time. What is in them is not known here.
 */
#ifndef COLLECT_KEPT_H
#define COLLECT_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct root;

struct kept {
	int dir;        /* owned: the folder, open */
	size_t nr, max; /* descriptors in use, and at most */
};

/* max becomes half of the soft limit of open files. 0 or -errno. */
int kept_init(struct kept *k, const struct root *root, const char *folder);
void kept_fini(struct kept *k); /* after every kept_close */

/* Whether nr more can be kept. */
bool kept_has_room(const struct kept *k, size_t nr);
/* A descriptor, or -errno; -EMFILE where there is none left but the last 16 below the limit, which
 * are for others. path is below the folder. */
int kept_open(struct kept *k, const char *path);
void kept_close(struct kept *k, int *fd); /* as io_close */

/* The file's text from its start, NUL-terminated: of fd if that is one, else of path. Its length,
 * or -errno (-EFBIG: there is no room for it and the NUL). */
ssize_t kept_read(const struct kept *k, int fd, const char *path, char *text, size_t size);

#endif
