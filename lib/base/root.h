/*
 * The path root: the only way to /proc, /sys and tracefs, so that tests can
 * put a captured tree of another machine in their place.
 */
#ifndef BASE_ROOT_H
#define BASE_ROOT_H

#include <stddef.h>
#include <stdint.h>

struct buf;

struct root {
	char dir[256]; /* "" for the live system; else the folder that holds proc/ and sys/ */
};

extern const struct root root_live;

/* dir is copied; -ENAMETOOLONG. */
int root_init(struct root *r, const char *dir);
/* Opens path ("/proc/stat") below the root for reading; the fd (close it) or -errno. */
int root_open(const struct root *r, const char *path);
/* Appends the file's content to *out; 0 or -errno. */
int root_load(const struct root *r, const char *path, struct buf *out);
/* The first line without its newline; 0 or -errno (-EFBIG if it does not fit, or is of 4,096
 * bytes). */
int root_load_line(const struct root *r, const char *path, char *line, size_t size);
int root_load_u64(const struct root *r, const char *path, uint64_t *out);
/* Calls fn(name, arg) for each entry of the folder but . and .., in byte order; stops at the first
 * non-zero result and returns it. -errno if the folder cannot be read. */
int root_each(const struct root *r, const char *path, int (*fn)(const char *name, void *arg),
	      void *arg);

#endif
