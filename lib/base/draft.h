/*
 * A file that gets its name only when it is complete; until then an existing file of that name is
 * unchanged. Meanwhile it has no name, so that nothing is left however its writer ends; if the file
 * system does not support that, it has an unpredictable name in the same folder.
 */
#ifndef BASE_DRAFT_H
#define BASE_DRAFT_H

#include "base/io.h"

#include <stdbool.h>

struct draft {
	int dirfd, fd;                        /* fd: to be written to; -1: there is none */
	const char *path, *name;              /* borrowed; name is the path's last part */
	char temporary[IO_RANDOM_NAME_BYTES]; /* in the folder */
	bool is_named;                        /* temporary is there from the start */
};

#define DRAFT_NONE                                                                                 \
	{                                                                                          \
		.dirfd = -1, .fd = -1                                                              \
	}

/* A file of mode 0600, in the folder of path. -errno with *e, and there is none then. */
int draft_open(struct draft *d, const char *path, struct err *e);
/* Brings it to the disk and under its name, by the rule of io_write_atomic (the same may_replace),
 * and ends it. On failure nothing of it is left. */
int draft_publish(struct draft *d, io_may_replace_fn *may_replace, struct err *e);
/* Ends it: nothing of it is left. */
void draft_drop(struct draft *d);
/* For a signal's handler, of a process that ends: nothing of it is left. At any time from
 * DRAFT_NONE on. */
void draft_forget(const struct draft *d);

#endif
