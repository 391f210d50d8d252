/*
 * Marks of other tools' interfaces: the command's environment names libcpuperf_marks.so where NVTX
 * and ITT look for a tool's library.
 */
#ifndef GUESTS_H
#define GUESTS_H

#include "base/err.h"

struct target_command;

/* Sets the variables that the user has not set. Without the library none is. 0 or -errno with
 * *e. */
int guests_set_variables(struct target_command *c, struct err *e);

#endif
