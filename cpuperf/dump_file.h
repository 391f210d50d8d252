/*
 * A file whose writing is a request, as SIGUSR2 is: --dump-file. It is neither read nor changed.
 */
#ifndef CPUPERF_DUMP_FILE_H
#define CPUPERF_DUMP_FILE_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>

struct dump_file {
	int fd;     /* owned; of inotify, for poll; -1: no file is watched */
	int folder; /* owned */
	char name[NAME_MAX + 1];
	const char *path; /* borrowed */
	bool has_warned;  /* of a file that is not the caller's */
};

/* Watches the folder of path for a file of its name; "": nothing. 0 or -errno with *e. */
int dump_file_open(const char *path, struct dump_file *out, struct err *e);
void dump_file_close(struct dump_file *d);
/* Reads what has come; never blocks. True: a regular file of that name, which belongs to the caller
 * or root, was closed after it was open for writing, or was moved there. *why: another one was, in
 * words, said once. */
bool dump_file_read(struct dump_file *d, struct err *why);

#endif
