/*
 * Where this program's file is, and what is installed beside it: an installed tree may be moved, so
 * no path of it is known before it runs.
 */
#ifndef BASE_SELF_H
#define BASE_SELF_H

#include <limits.h>

/* The program's own file. 0, or -errno with an empty path. */
int self_path(char path[PATH_MAX]);
/* What is at from_bin, relative to the folder of that file: absolute, without links if it exists.
 * 0, whether it exists or not, or -errno with an empty path. */
int self_near(const char *from_bin, char path[PATH_MAX]);

#endif
