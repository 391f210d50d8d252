/*
 * The names in a folder, looked at time after time through one descriptor: for what comes and goes.
 * Much cheaper than to open it anew, and it tells at once when nothing has changed.
 */
#ifndef COLLECT_LISTING_H
#define COLLECT_LISTING_H

#include "base/buf.h"

struct root;

struct listing {
	int fd;
	struct buf names;   /* at the last look, each with its NUL */
	struct buf next;    /* at the one that is under way */
	struct buf entries; /* as the kernel gives them */
};

/* 0 or -errno: nothing is open then. */
int listing_open(struct listing *l, const struct root *root, const char *path);
void listing_close(struct listing *l);

/* Looks. 1: the names (or their order) are others than at the last look; 0: all is as it was. Or
 * -errno: what was seen before is still there. */
int listing_look(struct listing *l);

/* The name at *at (0 at first), but not . and ..; *at moves past it. NULL at the end. Borrowed
 * until the next look. */
const char *listing_each(const struct listing *l, size_t *at);

#endif
