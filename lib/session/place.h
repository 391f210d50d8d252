/*
 * A locked name in a folder, which no other session can use.
 */
#ifndef SESSION_PLACE_H
#define SESSION_PLACE_H

#include "session/lock.h"

struct place {
	const char *path, *name; /* path: borrowed; name: its last part */
	int dirfd;               /* -1: nothing is saved here */
	struct lock lock;
};

#define PLACE_NONE ((struct place){.dirfd = -1, .lock = {.fd = -1}})

/* Opens the folder of the path and locks the path with the suffix. Path "": PLACE_NONE. 0, -EPERM
 * if the lock file belongs to another user, or -errno, with *e; also then place_close. */
int place_open(struct place *p, const char *path, const char *lock_suffix, struct err *e);
/* Releases the lock. PLACE_NONE is fine. */
void place_close(struct place *p);

#endif
