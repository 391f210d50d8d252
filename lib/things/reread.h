/*
 * Reads a file of /proc or sysfs repeatedly from its start: a read at offset 0 makes its text anew.
 */
#ifndef THINGS_REREAD_H
#define THINGS_REREAD_H

#include <stdbool.h>

struct buf;

/* Replaces text with that of the file. is_one: the kernel returns it in one piece (sysfs, cgroups),
 * so a short read is the end. 0 or -errno. */
int reread(int fd, bool is_one, struct buf *text);

#endif
