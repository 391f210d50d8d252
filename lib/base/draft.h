/*
 * A file that gets its name when it is complete; until then, an existing file of that name is
 * unchanged. Meanwhile it has no name, so that nothing remains if the writer is killed; if the file
 * system does not support that, it has a random name in the same folder.
 *
 * Mode 0600, synced before it is named. Links are not followed; files of another user, or of a
 * session, are not replaced. A terminal, a FIFO and /dev/stdout are written directly.
 */
#ifndef BASE_DRAFT_H
#define BASE_DRAFT_H

#include "base/io.h"

#include <stdbool.h>

struct draft {
	int dirfd, fd;                        /* fd: to write to; -1: none */
	const char *path, *name;              /* borrowed; name: the last part of path */
	char temporary[IO_RANDOM_NAME_BYTES]; /* a random name in the folder */
	bool is_named;                        /* the file has the name temporary */
};

#define DRAFT_NONE                                                                                 \
	{                                                                                          \
		.dirfd = -1, .fd = -1                                                              \
	}

/* Creates the file, of mode 0600, in the folder of path. -errno with *e, and no file. */
int draft_open(struct draft *d, const char *path, struct err *e);
/* Syncs the file, renames it by the rule of io_write_atomic (with the same may_replace), and closes
 * it. On failure nothing remains. */
int draft_publish(struct draft *d, io_may_replace_fn *may_replace, struct err *e);
/* Removes the file and closes it. */
void draft_drop(struct draft *d);
/* Removes the file. Async-signal-safe; allowed at any time from DRAFT_NONE on. */
void draft_forget(const struct draft *d);

#endif
