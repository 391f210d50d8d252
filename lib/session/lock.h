/*
 * A lock file: one session at a time uses a name. Held by flock, so it ends with the process.
 */
#ifndef SESSION_LOCK_H
#define SESSION_LOCK_H

#include <limits.h>

struct err;

struct lock {
	int dirfd; /* borrowed */
	int fd;    /* -1: not held */
	char name[NAME_MAX + 1];
};

/* Takes dirfd/name; path is for messages. 0, -EBUSY if another process holds it, -EPERM
 * if it belongs to another user, or -errno. */
int lock_acquire(struct lock *l, int dirfd, const char *name, const char *path, struct err *e);
/* Removes the file and lets go; nothing if it is not held. */
void lock_release(struct lock *l);

#endif
