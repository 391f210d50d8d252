/*
 * Lists a folder repeatedly through one descriptor, and reports whether the names changed: much
 * cheaper than to open it each time.
 */
#ifndef THINGS_LISTING_H
#define THINGS_LISTING_H

#include "base/buf.h"

struct root;

struct listing {
	int fd;
	struct buf names;   /* of the last look, each with its NUL */
	struct buf next;    /* of the look in progress */
	struct buf entries; /* the kernel's entries */
};

/* 0 or -errno: nothing is open then. */
int listing_open(struct listing *l, const struct root *root, const char *path);
void listing_close(struct listing *l);

/* Lists the folder. 1: the names or their order changed since the last look; 0: they did not;
 * -errno: the names of the last look stay. */
int listing_look(struct listing *l);

/* Returns the name at *at (0 at first) and moves *at past it; NULL at the end. Without . and ...
 * Valid until the next look. */
const char *listing_each(const struct listing *l, size_t *at);

#endif
