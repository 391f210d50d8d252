/*
 * The path root: all access to /proc, /sys and tracefs, so that tests can substitute a captured
 * tree.
 */
#ifndef BASE_ROOT_H
#define BASE_ROOT_H

#include <stddef.h>
#include <stdint.h>

struct buf;

struct root {
	char dir[256]; /* "" for the live system; else the folder that contains proc/ and sys/ */
};

extern const struct root root_live;

/* Copies dir; -ENAMETOOLONG. */
int root_init(struct root *r, const char *dir);
/* Opens path ("/proc/stat") below the root for reading. The descriptor or -errno. */
int root_open(const struct root *r, const char *path);
/* Appends the file's content to *out; 0 or -errno. */
int root_load(const struct root *r, const char *path, struct buf *out);
/* The first line, without its newline. 0 or -errno (-EFBIG: longer than size, or 4,096 bytes or
 * more). */
int root_load_line(const struct root *r, const char *path, char *line, size_t size);
/* As root_load_line, all lines, without the newline of the last: a task's name, which its
 * /proc/…/stat contains, may contain newlines. */
int root_load_text(const struct root *r, const char *path, char *out, size_t size);
int root_load_u64(const struct root *r, const char *path, uint64_t *out);
/* Calls fn for each entry of the folder except . and .., in byte order, until it returns non-zero.
 * That, 0, or -errno if the folder cannot be read. */
int root_each(const struct root *r, const char *path, int (*fn)(const char *name, void *arg),
	      void *arg);

#endif
