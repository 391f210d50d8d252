/*
 * Marks of other tools' interfaces: the command's environment names libcpuperf_marks.so where NVTX
 * and ITT look for a tool's library.
 */
#ifndef GUESTS_H
#define GUESTS_H

#include "base/err.h"

/* Calls set for each variable that the user has not set; without the library for none. 0 or -errno
 * with *e, which may be that of set. */
int guests_set_variables(int (*set)(void *arg, const char *name, const char *value, struct err *e),
			 void *arg, struct err *e);

#endif
