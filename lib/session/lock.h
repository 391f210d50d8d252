/*
 * A lock file, so that one session at a time uses a name. flock releases it when the process ends.
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

/* Locks dirfd/name; path is for messages. 0, -EBUSY if another process holds the lock, -EPERM if it
 * belongs to another user, or -errno. */
int lock_acquire(struct lock *l, int dirfd, const char *name, const char *path, struct err *e);
/* Removes the file and unlocks it; nothing if it is not locked. */
void lock_release(struct lock *l);

#endif
