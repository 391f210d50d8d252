/*
 * Marks of other tools' interfaces: the command's environment names libcpuperf_marks.so where NVTX
 * and ITT look for a tool's library.
 */
#ifndef GUESTS_H
#define GUESTS_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>

struct target_command;

/* A library beside this program, in a build tree as in an install; from_bin: from the program's
 * folder. False: it is not there. */
bool guests_find(const char *from_bin, char path[PATH_MAX]);

/* Sets the variables that the user has not set. Without the library none is. 0 or -errno with
 * *e. */
int guests_set_variables(struct target_command *c, struct err *e);

#endif
