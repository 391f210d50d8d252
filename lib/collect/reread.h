/*
 * Files that are read again and again from their start, as those of /proc and sysfs, which make
 * their text anew for a read at offset 0. What is in them is not known here.
 */
#ifndef COLLECT_REREAD_H
#define COLLECT_REREAD_H

#include <stdbool.h>

struct buf;

/* The file's text, in place of what was in the buffer. is_one: the kernel gives it as one piece
 * (sysfs, cgroups), so that less than what was asked for is the end. 0 or -errno. */
int reread(int fd, bool is_one, struct buf *text);

#endif
